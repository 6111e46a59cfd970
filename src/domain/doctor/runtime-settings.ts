/** What a runtime tells of its own settings when it is asked to be verbose. containerd does; others leave it to their documented places. */
import type { CgroupDriver } from "../runtime/runtime-info.ts";

export interface RuntimeSettings {
  readonly networkFolder: string;
  readonly networkProgramFolders: readonly string[];
  /** Undefined: it does not say. */
  readonly driver: CgroupDriver | undefined;
}

export const USUAL_SETTINGS: RuntimeSettings = {
  networkFolder: "/etc/cni/net.d",
  networkProgramFolders: ["/opt/cni/bin"],
  driver: undefined,
};

type Entry = Readonly<Record<string, unknown>>;

/** Throws where it says something that cannot be read. */
export function runtimeSettings(info: Readonly<Record<string, string>>): RuntimeSettings {
  const text = info["config"];
  if (text === undefined) return USUAL_SETTINGS;
  const config = entryOf(JSON.parse(text));
  const cni = entryOf(config["cni"]);
  const containerd = entryOf(config["containerd"]);
  const folder = cni["confDir"];
  const folders = Array.isArray(cni["binDirs"]) ? cni["binDirs"] : [cni["binDir"]];
  const named = folders.filter((each): each is string => typeof each === "string" && each !== "");
  return {
    networkFolder: typeof folder === "string" && folder !== "" ? folder : USUAL_SETTINGS.networkFolder,
    networkProgramFolders: named.length > 0 ? named : USUAL_SETTINGS.networkProgramFolders,
    driver: driverOf(containerd),
  };
}

/** That of the handler which pods get unless they name another. */
function driverOf(containerd: Entry): CgroupDriver | undefined {
  const name = containerd["defaultRuntimeName"];
  if (typeof name !== "string") return undefined;
  const handler = entryOf(entryOf(containerd["runtimes"])[name]);
  const isSystemd = entryOf(handler["options"])["SystemdCgroup"];
  return typeof isSystemd === "boolean" ? (isSystemd ? "systemd" : "cgroupfs") : undefined;
}

const entryOf = (value: unknown): Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Entry) : {};
