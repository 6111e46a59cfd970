/**
 * Performs an action on a guest's agent that no pod may notice. Compares before and after: each container's process,
 * each mount with its id, and each container's number of starts. Checks continuously: containerd's events, unmounts,
 * and every version of every pod at the API server.
 */
import assert from "node:assert/strict";
import { pause } from "../cluster/wait.ts";
import type { Guest } from "../guest/guest.ts";
import { readyFlips } from "./audit.ts";
import { containersIn, type EndedPod, GuestRecorder, NOTHING, podMountsIn } from "./guest-inspection.ts";
import { begun } from "./guest-workload.ts";
import type { GuestNode } from "./joined-guest.ts";
import { changesSince } from "./pod-faults.ts";

export interface Watched {
  /** Pod names at the API server. */
  readonly pods: readonly string[];
  /** Pods that were asked to terminate before; they are not checked. */
  readonly ended?: readonly EndedPod[];
  /**
   * Pods that may be reported unready for a moment: their published statuses are not checked, but their processes and
   * mounts are.
   */
  readonly mayBeUnready?: readonly string[];
  /** Further state that must be the same afterwards. */
  readonly look?: () => Promise<unknown>;
}

/** The time in which either agent, under emulation, inspects everything again. */
const SETTLE_MS = 60_000;

export async function withoutDisruption<T>(
  node: GuestNode,
  { pods, ended = [], mayBeUnready = [], look = async () => undefined }: Watched,
  act: () => Promise<T>,
): Promise<T> {
  const { guest } = node;
  const inspect = async () => ({ ...(await inspectGuest(guest, ended)), more: await look() });
  const recorder = await GuestRecorder.open(guest);
  const [before, sinceWallMs] = [await inspect(), Date.now()];
  for (const name of pods) {
    const { phase } = node.pods.latest(name)?.status ?? {};
    const running = before.containers.filter(({ pod }) => pod === name).length;
    assert.ok(phase === "Succeeded" || (phase === "Running" && running > 1), `${name} is ${phase} with ${running}`);
  }
  const answer = await act();
  await node.healthy();
  await pause(SETTLE_MS);
  assert.deepEqual(await inspect(), before);
  assert.deepEqual(await recorder.happened(ended), NOTHING);
  const changes = pods
    .filter((name) => !mayBeUnready.includes(name))
    .flatMap((name) => changesSince(name, node.pods.versions(name), sinceWallMs));
  assert.deepEqual(changes, []);
  const mayFlip = (name: string) =>
    mayBeUnready.includes(name) || ended.some((each) => each.name === name) ? 0 : undefined;
  const flips = readyFlips(await node.audit(), mayFlip);
  assert.deepEqual(
    flips.filter((flip) => Date.parse(flip.split(" ")[0] ?? "") >= sinceWallMs),
    [],
  );
  return answer;
}

async function inspectGuest(guest: Guest, ended: readonly EndedPod[]) {
  const isOther = (pod: string) => !ended.some(({ name }) => name === pod);
  const counts = Object.entries(await begun(guest));
  return {
    containers: (await containersIn(guest)).filter(({ pod }) => isOther(pod)),
    mounts: (await podMountsIn(guest)).filter((line) => !ended.some(({ uid }) => line.includes(uid))),
    begun: counts.filter(([name]) => isOther(name.split(".")[0] ?? "")),
  };
}
