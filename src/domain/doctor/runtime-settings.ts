/**
 * The settings that a runtime reports in a verbose status. containerd does; other runtimes report little, and nothing
 * is assumed about them.
 */
import type { CgroupDriver } from "../runtime/runtime-info.ts";

export interface RuntimeSettings {
  /** Undefined fields: the runtime does not report them. */
  readonly networkDirectory: string | undefined;
  readonly networkProgramDirectories: readonly string[] | undefined;
  readonly driver: CgroupDriver | undefined;
  /** Whether the runtime uses the CNI plugin `loopback` to set up the loopback of each pod. */
  readonly needsLoopback: boolean;
}

export const NO_SETTINGS: RuntimeSettings = {
  networkDirectory: undefined,
  networkProgramDirectories: undefined,
  driver: undefined,
  needsLoopback: false,
};

type Entry = Readonly<Record<string, unknown>>;

/** Throws if the runtime reports something that cannot be parsed. */
export function runtimeSettings(info: Readonly<Record<string, string>>): RuntimeSettings {
  const text = info["config"];
  if (text === undefined) return NO_SETTINGS;
  const config = entryOf(JSON.parse(text));
  const cni = entryOf(config["cni"]);
  const containerd = entryOf(config["containerd"]);
  const directory = cni["confDir"];
  const directories = Array.isArray(cni["binDirs"]) ? cni["binDirs"] : [cni["binDir"]];
  const named = directories.filter((each): each is string => typeof each === "string" && each !== "");
  return {
    networkDirectory: typeof directory === "string" && directory !== "" ? directory : undefined,
    networkProgramDirectories: named.length > 0 ? named : undefined,
    driver: driverOf(containerd),
    // Only containerd reports settings under this name.
    needsLoopback: config["cni"] !== undefined && cni["useInternalLoopback"] !== true,
  };
}

/** The driver of the default handler. */
function driverOf(containerd: Entry): CgroupDriver | undefined {
  const name = containerd["defaultRuntimeName"];
  if (typeof name !== "string") return undefined;
  const handler = entryOf(entryOf(containerd["runtimes"])[name]);
  const isSystemd = entryOf(handler["options"])["SystemdCgroup"];
  return typeof isSystemd === "boolean" ? (isSystemd ? "systemd" : "cgroupfs") : undefined;
}

const entryOf = (value: unknown): Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Entry) : {};
