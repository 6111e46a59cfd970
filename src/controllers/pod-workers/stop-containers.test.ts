import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { LifecycleHandler, Pod } from "../../api/gen/core-v1.ts";
import { newPodState } from "./pod-state.ts";
import { type Stopping, stopContainers } from "./stop-containers.ts";

const GRACE_SECONDS = 5;
const STOP_MS = 2_000;
const EXEC: LifecycleHandler = { exec: { command: ["bye"] } };

interface Played {
  readonly preStop: LifecycleHandler;
  /** How long the command runs if nothing ends it. */
  readonly commandMs: number;
  /** The command ends with exit code 137 when the container is killed; otherwise the runtime never answers. */
  readonly endsWithContainer?: boolean;
}

/** Stops a container that ignores SIGTERM, and returns what happened when, in milliseconds. */
async function play({ preStop, commandMs, endsWithContainer = true }: Played): Promise<readonly string[]> {
  const clock = new ManualClock();
  const happened: string[] = [];
  const note = (text: string) => void happened.push(`${clock.monotonicMs()} ${text}`);
  const killed = Promise.withResolvers<number>();
  const after = (ms: number) => new Promise<number>((resolve) => void clock.after(ms, () => resolve(0)));
  const runtime = {
    execSync: async (_id: string, _command: unknown, _seconds: number, signal: AbortSignal) => {
      note("hook begins");
      const cut = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      const exitCode = await Promise.race([after(commandMs), killed.promise, cut]).catch((error: unknown) => {
        note("hook is canceled");
        throw error;
      });
      note(`hook exits with ${exitCode}`);
      return { exitCode, stdout: new Uint8Array(), stderr: new Uint8Array() };
    },
    stopContainer: async (_id: string, graceSeconds: number) => {
      note(`stop within ${graceSeconds} s`);
      await after(graceSeconds * 1_000);
      if (endsWithContainer) killed.resolve(137);
      note("container is killed");
    },
  };
  const ports = {
    clock,
    runtime,
    log: keptLog(),
    events: { emit: (_subject: unknown, _type: string, reason: string) => note(`event ${reason}`) },
    journal: { note: () => {}, append: async (record: { readonly hook?: string }) => note(`journal ${record.hook}`) },
  };
  const pod: Pod = {
    metadata: { name: "p", namespace: "default", uid: "u" },
    spec: {
      terminationGracePeriodSeconds: GRACE_SECONDS,
      containers: [{ name: "app", lifecycle: { preStop } }],
    },
  };
  const stopping = { state: newPodState("u", 0), pod, ports, settings: { hookUserAgent: "" }, graceMs: undefined };
  const stop = { id: "app-0", name: "app", reason: { kind: "podEnds" } } as const;
  const stopped = stopContainers([stop], stopping as unknown as Stopping, new AbortController().signal);
  await clock.advance(60_000);
  await stopped;
  assert.equal(clock.timersPending, commandMs > 60_000 && preStop.exec !== undefined ? 1 : 0);
  return happened;
}

const afterGrace = GRACE_SECONDS * 1_000;
const atEnd = afterGrace + STOP_MS;

test("[7.15] a preStop hook that exceeds the grace period runs on while its container is stopped, and fails with it", async () => {
  assert.deepEqual(await play({ preStop: EXEC, commandMs: 100_000 }), [
    "0 event Killing",
    "0 hook begins",
    `${afterGrace} stop within 2 s`,
    `${atEnd} container is killed`,
    `${atEnd} hook exits with 137`,
    `${atEnd} event FailedPreStopHook`,
    `${atEnd} journal preStopDone`,
  ]);
});

test("[7.15] a preStop hook that succeeds while its container is being stopped is no failure", async () => {
  assert.deepEqual(await play({ preStop: EXEC, commandMs: 6_000 }), [
    "0 event Killing",
    "0 hook begins",
    `${afterGrace} stop within 2 s`,
    "6000 hook exits with 0",
    "6000 journal preStopDone",
    `${atEnd} container is killed`,
  ]);
});

test("[7.15] a preStop hook whose end the runtime does not report is canceled once its container is stopped", async () => {
  assert.deepEqual(await play({ preStop: EXEC, commandMs: 100_000, endsWithContainer: false }), [
    "0 event Killing",
    "0 hook begins",
    `${afterGrace} stop within 2 s`,
    `${atEnd} container is killed`,
    `${atEnd} hook is canceled`,
    `${atEnd} event FailedPreStopHook`,
  ]);
});

test("[7.15] a preStop hook that sleeps longer than the grace period ends with its container without a failure", async () => {
  assert.deepEqual(await play({ preStop: { sleep: { seconds: 100 } }, commandMs: 0 }), [
    "0 event Killing",
    `${afterGrace} stop within 2 s`,
    `${atEnd} container is killed`,
  ]);
});
