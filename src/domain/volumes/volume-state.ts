/** Where a pod's volumes are: what the volume loop says of each, and what containers are started upon. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { StepReport } from "../pod/ending.ts";
import { usedVolumes } from "./used-volumes.ts";

export interface MountedVolume {
  /** What it is called on disk. */
  readonly name: string;
  /** Where it is on this node. Empty for the files of an image, which the runtime mounts. */
  readonly path: string;
  readonly readOnly: boolean;
  readonly selinuxRelabel: boolean;
  /** Undefined: nobody measures how full it is. */
  readonly measured: VolumeMeasurement | undefined;
}

export interface VolumeMeasurement {
  /** By walking over its files, or by asking its file system. */
  readonly how: "walk" | "filesystem";
  /** It stays as large as it is. */
  readonly once: boolean;
  /** It counts towards the pod's ephemeral storage. */
  readonly ephemeral: boolean;
}

export type VolumeState =
  /** Not there yet: it waits for something, or is being worked on. */
  | { readonly kind: "pending" }
  /** All it is made of is at hand, and it is being put where it belongs for the first time. */
  | { readonly kind: "coming" }
  /** What it is cannot be told yet, and why. */
  | { readonly kind: "unprocessed"; readonly message: string }
  /** Tried, and tried again later. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "mounted"; readonly volume: MountedVolume }
  /** The pod is over: it is being taken away. */
  | {
      readonly kind: "leaving";
      readonly trouble: string;
      readonly attempts: number;
      readonly nextTryMonotonicMs: number;
    };

/** By volume name; of a pod that is over, by what it is called on disk. A pod without an entry has nothing on this node. */
export type PodVolumes = ReadonlyMap<string, VolumeState>;

export type VolumeReadiness =
  | { readonly kind: "ready"; readonly volumes: PodVolumes }
  | {
      /** "coming": nothing is missing, it is a matter of a moment. */
      readonly kind: "waiting" | "coming";
      readonly unmounted: readonly string[];
      readonly unprocessed: ReadonlyMap<string, string>;
    };

const NO_VOLUMES: PodVolumes = new Map();

/** Whether the containers of a pod may start, as far as volumes go. */
export function readinessOf(pod: Pod, volumes: PodVolumes = NO_VOLUMES): VolumeReadiness {
  const unmounted: string[] = [];
  const unprocessed = new Map<string, string>();
  let isComing = true;
  for (const { name } of usedVolumes(pod)) {
    const state = volumes.get(name);
    if (state?.kind === "mounted") continue;
    unmounted.push(name);
    if (state?.kind !== "coming") isComing = false;
    if (state?.kind === "unprocessed") unprocessed.set(name, state.message);
  }
  if (unmounted.length === 0) return { kind: "ready", volumes };
  return { kind: isComing ? "coming" : "waiting", unmounted, unprocessed };
}

/** What the pod's owner is told: at once of volumes that cannot be told, else when it has taken too long. */
export function waitingMessage({ unmounted, unprocessed }: Exclude<VolumeReadiness, { kind: "ready" }>): string {
  const list = (names: Iterable<string>) => `[${[...names].toSorted().join(" ")}]`;
  const why = unprocessed.size === 0 ? "timed out waiting for the condition" : [...unprocessed.values()].join("; ");
  const volumes = `unmounted volumes=${list(unmounted)}, unattached volumes=[], failed to process volumes=${list(unprocessed.keys())}`;
  return `Unable to attach or mount volumes: ${volumes}: ${why}`;
}

/** Why a pod that is over still has volumes here; undefined: nothing has failed. */
export function endTrouble(
  volumes: PodVolumes = NO_VOLUMES,
): Pick<StepReport, "attempts" | "error" | "nextTryMonotonicMs"> | undefined {
  const left = [...volumes].flatMap(([name, state]) => (state.kind === "leaving" ? [{ name, state }] : []));
  const [first] = left;
  if (first === undefined) return undefined;
  const { attempts, nextTryMonotonicMs } = first.state;
  const error = left.map(({ name, state }) => (name === "" ? state.trouble : `${name}: ${state.trouble}`)).join("; ");
  return { attempts, error, nextTryMonotonicMs };
}
