/** What a runtime tells of its own settings when it is asked to be verbose. containerd does; others tell little, and nothing is assumed of them. */
import type { CgroupDriver } from "../runtime/runtime-info.ts";

export interface RuntimeSettings {
  /** Undefined each: it does not say. */
  readonly networkFolder: string | undefined;
  readonly networkProgramFolders: readonly string[] | undefined;
  readonly driver: CgroupDriver | undefined;
  /** Whether it makes each pod's loopback by the plug-in of that name. */
  readonly needsLoopback: boolean;
}

export const NO_SETTINGS: RuntimeSettings = {
  networkFolder: undefined,
  networkProgramFolders: undefined,
  driver: undefined,
  needsLoopback: false,
};

type Entry = Readonly<Record<string, unknown>>;

/** Throws where it says something that cannot be read. */
export function runtimeSettings(info: Readonly<Record<string, string>>): RuntimeSettings {
  const text = info["config"];
  if (text === undefined) return NO_SETTINGS;
  const config = entryOf(JSON.parse(text));
  const cni = entryOf(config["cni"]);
  const containerd = entryOf(config["containerd"]);
  const folder = cni["confDir"];
  const folders = Array.isArray(cni["binDirs"]) ? cni["binDirs"] : [cni["binDir"]];
  const named = folders.filter((each): each is string => typeof each === "string" && each !== "");
  return {
    networkFolder: typeof folder === "string" && folder !== "" ? folder : undefined,
    networkProgramFolders: named.length > 0 ? named : undefined,
    driver: driverOf(containerd),
    // Those of containerd are the only ones that are known by this name.
    needsLoopback: config["cni"] !== undefined && cni["useInternalLoopback"] !== true,
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
