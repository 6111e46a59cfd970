/**
 * Creates and deletes mirror pods on the API server as planned. Each pod has one action at a time; different pods
 * proceed in parallel. Failed actions are retried with backoff. A completed action is not repeated until the watch has
 * shown it. While an action waits for a pod to terminate, each change of that pod in the runtime is a new plan.
 */

import { pods } from "../../api/resources.ts";
import { backoffMs } from "../../base/backoff.ts";
import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import { Notifier } from "../../concurrency/notifier.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { DesiredPods } from "../../domain/pod/desired-pod.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import { type MirrorAction, planMirrors, runningNames } from "../../domain/static-pods/mirror-plan.ts";
import { isConflict, isNotFound } from "../../ports/api-error.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";

export interface MirrorPodsParts {
  readonly api: Pick<ApiServer, "create" | "delete">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly desiredPods: Latest<DesiredPods>;
  readonly ownNode: Latest<OwnNode>;
  /** Undefined until the runtime was listed for the first time. */
  readonly listedSandboxes: Latest<readonly Sandbox[] | undefined>;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
}

const BACKOFF = { firstMs: 500, maxMs: 30_000 };
/** How long the watch may take to show a completed action before the action counts as not done. */
const SHOWN_WITHIN_MS = 10_000;

/** Why nothing is done for a pod at the moment. */
type Hold =
  | { readonly kind: "busy" }
  | { readonly kind: "failed"; readonly failures: number; readonly untilMs: number }
  | { readonly kind: "done"; readonly uidBefore: string | undefined; readonly untilMs: number };

export async function runMirrorPods(parts: MirrorPodsParts, shutdown: AbortSignal): Promise<void> {
  const { clock, desiredPods, ownNode, listedSandboxes, podRuntimeStatus } = parts;
  const keeper = new MirrorKeeper(parts, shutdown);
  const unwatch = podRuntimeStatus.watch((uid) => (keeper.awaited.has(uid) ? keeper.replan.notify() : undefined));
  try {
    while (!shutdown.aborted) {
      const seen = [desiredPods, ownNode, keeper.replan].map((cell) => ({ cell, seen: cell.version }));
      const listed = { cell: listedSandboxes, seen: listedSandboxes.version };
      const waitMs = keeper.start();
      const needsList = listedSandboxes.value === undefined || keeper.awaited.size > 0;
      const wakers = needsList ? [...seen, listed] : seen;
      await unlessShutDown(shutdown, () => waitForChange(clock, wakers, waitMs, shutdown));
    }
  } finally {
    unwatch();
  }
  await keeper.idle();
}

class MirrorKeeper {
  /** An action ended, or a pod that one waits for has changed. */
  readonly replan = new Notifier();
  /** UIDs of the pods that must terminate before their mirror pods change. */
  awaited: ReadonlySet<string> = new Set();
  readonly #parts: MirrorPodsParts;
  readonly #shutdown: AbortSignal;
  readonly #holds = new Map<string, Hold>();
  readonly #running = new Set<Promise<void>>();

  constructor(parts: MirrorPodsParts, shutdown: AbortSignal) {
    this.#parts = parts;
    this.#shutdown = shutdown;
  }

  /** Starts the due actions and returns how long to wait for the next one. */
  start(): number {
    const { desiredPods, ownNode, listedSandboxes, podRuntimeStatus, clock } = this.#parts;
    const views = podRuntimeStatus.keys().flatMap((uid) => podRuntimeStatus.get(uid) ?? []);
    const running = runningNames(listedSandboxes.value, views);
    const { actions, awaited } = planMirrors(desiredPods.value, ownNode.value, running);
    this.awaited = awaited;
    const planned = new Set(actions.map(({ fullName }) => fullName));
    for (const [name, hold] of this.#holds) if (!planned.has(name) && hold.kind !== "busy") this.#holds.delete(name);
    const nowMs = clock.monotonicMs();
    let waitMs = Number.POSITIVE_INFINITY;
    for (const action of actions) {
      const leftMs = this.#heldMs(action.fullName, nowMs);
      if (leftMs <= 0) this.#turn(action);
      else waitMs = Math.min(waitMs, leftMs);
    }
    return waitMs;
  }

  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  #heldMs(fullName: string, nowMs: number): number {
    const hold = this.#holds.get(fullName);
    if (hold === undefined) return 0;
    if (hold.kind === "busy") return Number.POSITIVE_INFINITY;
    if (hold.kind === "done" && hold.uidBefore !== this.#mirrorUid(fullName)) return 0;
    return hold.untilMs - nowMs;
  }

  #mirrorUid(fullName: string): string | undefined {
    return this.#parts.desiredPods.value.mirrors.get(fullName)?.metadata?.uid;
  }

  #turn(action: MirrorAction): void {
    const { fullName } = action;
    const before = this.#holds.get(fullName);
    const failures = before?.kind === "failed" ? before.failures : 0;
    this.#holds.set(fullName, { kind: "busy" });
    const turn = this.#do(action, failures).then((hold) => {
      this.#holds.set(fullName, hold);
      this.#running.delete(turn);
      this.replan.notify();
    });
    this.#running.add(turn);
  }

  async #do(action: MirrorAction, failures: number): Promise<Hold> {
    const { clock, random, log } = this.#parts;
    const { kind, fullName } = action;
    const uidBefore = this.#mirrorUid(fullName);
    try {
      await this.#call(action);
      const why = action.kind === "delete" ? { why: action.why } : {};
      log.info(2, kind === "create" ? "Created a mirror pod" : "Deleted a mirror pod", { pod: fullName, ...why });
      return { kind: "done", uidBefore, untilMs: clock.monotonicMs() + SHOWN_WITHIN_MS };
    } catch (error) {
      if (!this.#shutdown.aborted) log.error(`Unable to ${kind} a mirror pod`, error, { pod: fullName });
      const waitMs = backoffMs(BACKOFF, failures + 1, random.fraction());
      return { kind: "failed", failures: failures + 1, untilMs: clock.monotonicMs() + waitMs };
    }
  }

  async #call(action: MirrorAction): Promise<void> {
    const { api } = this.#parts;
    if (action.kind === "create") {
      await api.create(pods, action.mirror, this.#shutdown);
      return;
    }
    const { namespace, name, uid } = action;
    try {
      const options = { gracePeriodSeconds: 0, preconditions: { uid } };
      await api.delete(pods, { namespace, name }, options, this.#shutdown);
    } catch (error) {
      // The mirror pod is gone already or was replaced: the watch will show which.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
