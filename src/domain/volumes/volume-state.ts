/** The state of a pod's volumes: the volume loop reports it, and container starts depend on it. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { StepReport } from "../pod/ending.ts";
import { usedVolumes } from "./used-volumes.ts";

export interface MountedVolume {
  /** The volume's name on disk. */
  readonly name: string;
  /** The path on this node. Empty for the files of an image, which the runtime mounts. */
  readonly path: string;
  readonly readOnly: boolean;
  readonly selinuxRelabel: boolean;
  /** Undefined: the volume's usage is not measured. */
  readonly measured: VolumeMeasurement | undefined;
}

export interface VolumeMeasurement {
  /** By walking its files, or by querying its filesystem. */
  readonly how: "walk" | "filesystem";
  /** Measured only once, because its size does not change. */
  readonly once: boolean;
  /** Whether the volume counts towards the pod's ephemeral storage. */
  readonly ephemeral: boolean;
  /** The project whose quota counts what the walk would count, and files without a name. */
  readonly project?: number;
}

export type VolumeState =
  /** Not mounted yet: it waits for something, or is being set up. */
  | { readonly kind: "pending" }
  /** Everything that the volume needs is available, and it is being set up for the first time. */
  | { readonly kind: "mounting" }
  /** The volume's source cannot be resolved yet; `message` says why. */
  | { readonly kind: "unprocessed"; readonly message: string }
  /** Setup failed, and is retried later. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "mounted"; readonly volume: MountedVolume }
  /** The pod has terminated: the volume is being torn down. */
  | {
      readonly kind: "unmounting";
      readonly trouble: string;
      readonly attempts: number;
      readonly nextTryMonotonicMs: number;
    };

/** By volume name; for a terminated pod, by the name on disk. A pod without an entry has no volumes on this node. */
export type PodVolumes = ReadonlyMap<string, VolumeState>;

export type VolumeReadiness =
  | { readonly kind: "ready"; readonly volumes: PodVolumes }
  | {
      /** "mounting": nothing is missing, and the volumes will be ready shortly. */
      readonly kind: "waiting" | "mounting";
      readonly unmounted: readonly string[];
      readonly unprocessed: ReadonlyMap<string, string>;
    };

const NO_VOLUMES: PodVolumes = new Map();

/** Whether the containers of a pod may start, as far as its volumes are concerned. */
export function readinessOf(pod: Pod, volumes: PodVolumes = NO_VOLUMES): VolumeReadiness {
  const unmounted: string[] = [];
  const unprocessed = new Map<string, string>();
  let isMounting = true;
  for (const { name } of usedVolumes(pod)) {
    const state = volumes.get(name);
    if (state?.kind === "mounted") continue;
    unmounted.push(name);
    if (state?.kind !== "mounting") isMounting = false;
    if (state?.kind === "unprocessed") unprocessed.set(name, state.message);
  }
  if (unmounted.length === 0) return { kind: "ready", volumes };
  return { kind: isMounting ? "mounting" : "waiting", unmounted, unprocessed };
}

/** The message for the pod's owner: at once for volumes that cannot be processed, otherwise after a timeout. */
export function waitingMessage({ unmounted, unprocessed }: Exclude<VolumeReadiness, { kind: "ready" }>): string {
  const list = (names: Iterable<string>) => `[${[...names].toSorted().join(" ")}]`;
  const why = unprocessed.size === 0 ? "timed out waiting for the condition" : [...unprocessed.values()].join("; ");
  const volumes = `unmounted volumes=${list(unmounted)}, unattached volumes=[], failed to process volumes=${list(unprocessed.keys())}`;
  return `Unable to attach or mount volumes: ${volumes}: ${why}`;
}

/** Why a terminated pod still has volumes on this node; undefined: nothing has failed. */
export function endTrouble(
  volumes: PodVolumes = NO_VOLUMES,
): Pick<StepReport, "attempts" | "error" | "nextTryMonotonicMs"> | undefined {
  const left = [...volumes].flatMap(([name, state]) => (state.kind === "unmounting" ? [{ name, state }] : []));
  const [first] = left;
  if (first === undefined) return undefined;
  const { attempts, nextTryMonotonicMs } = first.state;
  const error = left.map(({ name, state }) => (name === "" ? state.trouble : `${name}: ${state.trouble}`)).join("; ");
  return { attempts, error, nextTryMonotonicMs };
}
