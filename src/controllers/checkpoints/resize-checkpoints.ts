/**
 * Keeps the Go kubelet's checkpoint files of allocated and actuated pod resources. The files are read once at startup,
 * then written when their content changes, at most once per `PAUSE_MS`. Deckhand itself relies on the journal, not on
 * these files.
 */

import { errorText } from "../../base/error-text.ts";
import { goQuote } from "../../base/go-text.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import { Notifier } from "../../concurrency/notifier.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import { MisconfigurationError } from "../../domain/misconfiguration.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { hasEnded } from "../../domain/pod/pod-lifecycle.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { FoundCheckpoint } from "../../domain/resize/adopt-checkpoints.ts";
import type { ResourceAllocation } from "../../domain/resize/allocation.ts";
import {
  ACTUATED_FILE,
  ALLOCATED_FILE,
  decodeCheckpoint,
  encodeCheckpoint,
  type ResourceAllocations,
} from "../../domain/resize/checkpoint.ts";
import type { Clock } from "../../ports/clock.ts";
import { type HostFiles, isMissing } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { CHECKPOINT_FILE_BYTES_MAX } from "../limits.ts";

interface CheckpointParts {
  readonly files: HostFiles;
  readonly log: Log;
  readonly rootDir: string;
}

/** Many pods that change at once cause one write. */
const PAUSE_MS = 500;

export interface ResizeCheckpoints {
  readonly allocated: FoundCheckpoint;
  readonly actuated: FoundCheckpoint;
}

const NOTHING: FoundCheckpoint = { pods: new Map(), isOwn: true };

interface ReadParts extends CheckpointParts {
  /** As in the Go kubelet, which does not start. Otherwise the file is set aside as `.corrupt`, for inspection. */
  readonly corruptIsFatal: boolean;
}

export async function readCheckpoints(parts: ReadParts): Promise<ResizeCheckpoints> {
  return { allocated: await readOne(ALLOCATED_FILE, parts), actuated: await readOne(ACTUATED_FILE, parts) };
}

async function readOne(name: string, { files, log, rootDir, corruptIsFatal }: ReadParts): Promise<FoundCheckpoint> {
  const path = `${rootDir}/${name}`;
  let why: string;
  try {
    const found = decodeCheckpoint(utf8Text(await files.read(path, CHECKPOINT_FILE_BYTES_MAX)) ?? "");
    if (found.kind === "read") return found;
    ({ why } = found);
  } catch (error) {
    if (isMissing(error)) return NOTHING;
    why = errorText(error);
  }
  if (corruptIsFatal) {
    const remedy = "please drain this node and delete pod resource information checkpoint file";
    log.error("Failed to read an allocation checkpoint", new Error(why), { path });
    throw new MisconfigurationError(
      `could not restore state from checkpoint: checkpoint is corrupted, ${remedy} ${goQuote(path)} before restarting Kubelet`,
    );
  }
  log.error("Set aside an invalid allocation checkpoint", new Error(why), { path });
  await files
    .rename(path, `${path}.corrupt`)
    .catch((error: unknown) => log.error("Failed to set aside a corrupt checkpoint", error, { path }));
  return NOTHING;
}

export interface CheckpointCells {
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly sourcesReady: Latest<boolean>;
}

export async function writeCheckpoints(
  parts: CheckpointParts & { readonly clock: Clock },
  { admittedPods, podOutcomes, sourcesReady }: CheckpointCells,
  found: ResizeCheckpoints,
  shutdown: AbortSignal,
): Promise<void> {
  const changes = new Notifier();
  const unwatch = [admittedPods.watch(changes.notify), podOutcomes.watch(changes.notify)];
  const written = new Map<string, string>();
  const write = async (name: string, pods: ResourceAllocations) => {
    const text = encodeCheckpoint(pods);
    if (written.get(name) === text) return;
    try {
      await parts.files.writeAtomically(`${parts.rootDir}/${name}`, utf8Bytes(text), 0o600);
      written.set(name, text);
    } catch (error) {
      parts.log.error("Failed to write an allocation checkpoint", error, { name });
    }
  };
  const writeBoth = async () => {
    await write(ALLOCATED_FILE, allocatedNow(admittedPods));
    await write(ACTUATED_FILE, actuatedNow(admittedPods, podOutcomes, found.actuated.pods));
  };
  try {
    await unlessShutDown(shutdown, async () => {
      // Until all pods are known again, the files left here hold more than we could write.
      await waitForValue(sourcesReady, (isReady) => isReady, shutdown);
      for (let seen = -1; !shutdown.aborted; seen = await changes.changed(seen, shutdown)) {
        // Pods that start meanwhile do not wait for the disk.
        await sleep(parts.clock, PAUSE_MS, shutdown);
        seen = changes.version;
        await writeBoth();
      }
    });
  } finally {
    for (const end of unwatch) end();
  }
  // The next kubelet process finds the latest state.
  if (sourcesReady.value) await writeBoth();
}

function allocatedNow(admittedPods: CheckpointCells["admittedPods"]): ResourceAllocations {
  const pods = new Map<string, ResourceAllocation>();
  for (const uid of admittedPods.keys()) {
    const admitted = admittedPods.get(uid);
    if (admitted?.verdict.kind === "admitted") pods.set(uid, admitted.verdict.allocation.resources);
  }
  return pods;
}

/**
 * Like a Go kubelet, keeps nothing of a pod that has terminated. A pod without an outcome yet keeps the values found at
 * startup.
 */
function actuatedNow(
  admittedPods: CheckpointCells["admittedPods"],
  podOutcomes: CheckpointCells["podOutcomes"],
  found: ResourceAllocations,
): ResourceAllocations {
  const pods = new Map<string, ResourceAllocation>();
  for (const uid of admittedPods.keys()) {
    const { actuated, lifecycle } = podOutcomes.get(uid) ?? {};
    if (lifecycle !== undefined && hasEnded(lifecycle)) continue;
    const before = found.get(uid);
    if (actuated === undefined && before !== undefined) pods.set(uid, before);
    if (actuated === undefined) continue;
    const { podLevel } = actuated.pod ?? {};
    const containers = Object.fromEntries(actuated.containers);
    pods.set(uid, { containers, ...(podLevel === undefined ? {} : { podLevel }) });
  }
  return pods;
}
