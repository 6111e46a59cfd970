import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { admittedVerdict, container, instance, pod, sandbox, view } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { applyStrategicMerge } from "../../../test/support/strategic-merge-applier.ts";
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import { jsonEqual } from "../../base/json-equal.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { type DesiredPods, noPods } from "../../domain/pod/desired-pod.ts";
import { CONFIG_HASH, CONFIG_MIRROR, fullNameOf } from "../../domain/pod/pod-identity.ts";
import type { PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import { STATUS_FIELDS } from "../../domain/pod-status/status-patch.ts";
import { FIRST_VERDICTS, type ProbeResult, type ProbeVerdicts } from "../../domain/probes/verdicts.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import { StatusPublisher } from "./status.ts";

/** One admitted pod, and an API server that stores the received statuses. */
function world(object: Pod = pod(), isStatic = false) {
  const clock = new ManualClock();
  const log = keptLog();
  const end = new AbortController();
  const uid = object.metadata?.uid ?? "";
  const sent: PodStatus[] = [];
  const removed: string[] = [];
  let status: PodStatus = {};
  const versions: Pod[] = [];
  let isAnswerLost = false;
  const patch = ((_resource: unknown, _name: unknown, { body }: { readonly body: { readonly status: PodStatus } }) => {
    sent.push(body.status);
    const merged = applyStrategicMerge({ ...status }, { ...body.status }, STATUS_FIELDS) as PodStatus;
    const last = versions.at(-1);
    if (last !== undefined && jsonEqual(merged, status)) return Promise.resolve(last);
    status = merged;
    const version = { ...object, metadata: { ...object.metadata, resourceVersion: String(sent.length) }, status };
    versions.push(version);
    if (!isAnswerLost) return Promise.resolve(version);
    isAnswerLost = false;
    return Promise.reject(new Error("no answer"));
  }) as unknown as ApiServer["patch"];
  const desiredPods = new LatestCell<DesiredPods>(noPods);
  const admittedPods = new LatestTable<string, AdmittedPod>();
  const podOutcomes = new LatestTable<string, PodOutcome>();
  const probeResults = new LatestTable<string, ProbeResult>();
  const running = new StatusPublisher({
    api: {
      patch,
      delete: (_resource, { name }) => {
        removed.push(name);
        return Promise.resolve();
      },
    },
    clock,
    random: { fraction: () => 0, uuid: () => "" },
    log,
    admittedPods,
    podOutcomes,
    probeResults,
    blockedTerminations: new LatestTable(),
    publishTroubles: new LatestTable(),
    desiredPods,
    ownNode: new LatestCell<OwnNode>({ kind: "unknown" }),
    qosClass: () => "BestEffort",
    runtimeName: () => "containerd",
    recursiveReadOnly: () => false,
    stopSignals: false,
  }).run(end.signal);
  admittedPods.set(uid, { uid, pod: object, isStatic, firstSeenWallMs: 0, verdict: admittedVerdict(object) });
  return {
    clock,
    log,
    sent,
    /** The versions that the watch delivers later. */
    versions,
    removed,
    loseAnswer: () => {
      isAnswerLost = true;
    },
    probed: async (id: string, verdicts: Partial<ProbeVerdicts>) => {
      probeResults.set(id, { uid, ...FIRST_VERDICTS, ...verdicts });
      await clock.advance(0);
    },
    mirrored: async (mirror: Pod) => {
      desiredPods.set({ ...noPods, mirrors: new Map([[fullNameOf(mirror), mirror]]) });
      await clock.advance(0);
    },
    watched: async (shown: Pod) => {
      admittedPods.set(uid, { uid, pod: shown, isStatic, firstSeenWallMs: 0, verdict: admittedVerdict(shown) });
      await clock.advance(0);
    },
    reported: async (
      seen: PodRuntimeView,
      lifecycle: PodLifecycle = { kind: "running" },
      more: Partial<PodOutcome> = {},
    ) => {
      podOutcomes.set(uid, {
        uid,
        lifecycle,
        view: seen,
        waiting: new Map(),
        resets: new Map(),
        postStartDue: new Set(),
        messages: new Map(),
        ...more,
      });
      await clock.advance(0);
    },
    end: async () => {
      end.abort(new Error("over"));
      await running;
    },
  };
}

const readyToStart = ({ conditions }: PodStatus) =>
  conditions?.find(({ type }) => type === "PodReadyToStartContainers")?.status;

test("a sandbox and its container that starts 100 ms later are published in one patch", async () => {
  const { clock, sent, reported, end } = world();
  await reported(view([], []));
  assert.equal(sent.length, 1);
  await reported(view([sandbox()], []));
  await clock.advance(100);
  await reported(view([sandbox()], [instance("app", "running")]));
  await clock.advance(60_000);
  assert.deepEqual(
    sent.map(({ phase }) => phase),
    ["Pending", "Running"],
  );
  assert.equal(readyToStart(sent[1] ?? {}), "True");
  await end();
});

test("a sandbox whose container takes longer than 250 ms is published by itself", async () => {
  const { clock, sent, reported, end } = world();
  await reported(view([], []));
  await reported(view([sandbox()], []));
  await clock.advance(249);
  assert.equal(sent.length, 1);
  await clock.advance(1);
  assert.equal(sent.length, 2);
  assert.equal(readyToStart(sent[1] ?? {}), "True");
  await end();
});

const probedPod = () =>
  pod({
    containers: [
      container("app", { readinessProbe: { tcpSocket: { port: 80 } }, startupProbe: { tcpSocket: { port: 80 } } }),
    ],
  });
const readyOf = ({ containerStatuses = [] }: PodStatus) => [containerStatuses[0]?.started, containerStatuses[0]?.ready];

test("[12.2] probe results are published at once, also while another patch is under way", async () => {
  const { log, sent, reported, probed, end } = world(probedPod());
  const running = view([sandbox()], [instance("app", "running")]);
  await reported(running);
  assert.deepEqual(readyOf(sent.at(-1) ?? {}), [false, false]);
  const both = [probed("app-0", { startup: "success" }), probed("app-0", { startup: "success", readiness: "success" })];
  await Promise.all(both);
  assert.deepEqual(readyOf(sent.at(-1) ?? {}), [true, true]);
  const count = sent.length;
  await probed("app-0", { startup: "success", readiness: "success", liveness: "failure" });
  assert.equal(sent.length, count, "liveness is no part of the status");
  assert.deepEqual(log.lines, [], "a new verdict is no error");
  await end();
});

test("[11.12] a container without probe results keeps its published ready and started; a new instance does not", async () => {
  const published = { name: "app", image: "", imageID: "", restartCount: 0, ready: true, started: true };
  const status: PodStatus = {
    phase: "Running",
    containerStatuses: [{ ...published, containerID: "containerd://app-0" }],
  };
  const same = world({ ...probedPod(), status });
  await same.reported(view([sandbox()], [instance("app", "running")]));
  assert.deepEqual(readyOf(same.sent.at(-1) ?? {}), [true, true]);
  await same.end();
  const other = world({ ...probedPod(), status });
  await other.reported(view([sandbox()], [instance("app", "running", { restartCount: 1 })]));
  assert.deepEqual(readyOf(other.sent.at(-1) ?? {}), [false, false]);
  await other.end();
});

test("[11.3] a finished pod is deleted once, however often its outcome is written before the watch shows it gone", async () => {
  const { removed, reported, end } = world(pod({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }));
  const finished: PodLifecycle = { kind: "finished", why: { kind: "deleted" } };
  const last = () => view([], [instance("app", "exited")]);
  await reported(last(), finished);
  assert.equal(removed.length, 1);
  await reported(last(), finished);
  await reported(last(), finished);
  assert.equal(removed.length, 1);
  await end();
});

test("[11.13] a static pod's status goes to the mirror pod with its hash, not to another of its name", async () => {
  const { sent, reported, mirrored, end } = world(pod({}, { annotations: { [CONFIG_HASH]: "one" } }), true);
  await reported(view([sandbox()], [instance("app", "running")]));
  await mirrored(pod({}, { uid: "mirror-of-two", annotations: { [CONFIG_MIRROR]: "two" } }));
  assert.equal(sent.length, 0);
  await mirrored(pod({}, { uid: "mirror-of-one", annotations: { [CONFIG_MIRROR]: "one" } }));
  assert.equal(sent[0]?.phase, "Running");
  await end();
});

test("[11.2] a status that another client overwrites is restored, and the watch event of our own patch is ignored", async () => {
  const { sent, reported, watched, end } = world();
  await reported(view([sandbox()], [instance("app", "running")]));
  assert.equal(sent.length, 1);
  const echo = { ...pod(), metadata: { ...pod().metadata, resourceVersion: "1" }, status: sent[0] ?? {} };
  await watched(echo);
  assert.equal(sent.length, 1);
  await watched({
    ...echo,
    metadata: { ...echo.metadata, resourceVersion: "9" },
    status: { ...echo.status, phase: "Pending" },
  });
  assert.deepEqual([sent.length, sent[1]?.phase], [2, "Running"]);
  const wrong = echo.status.containerStatuses?.map((each) => ({ ...each, restartCount: 9 })) ?? [];
  await watched({
    ...echo,
    metadata: { ...echo.metadata, resourceVersion: "19" },
    status: { ...echo.status, containerStatuses: wrong },
  });
  assert.deepEqual([sent.length, sent[2]?.containerStatuses?.[0]?.restartCount], [3, 0]);
  await end();
});

const RUNS = { kind: "running" } as const;
const isResizing = ({ status }: Pod) => status?.conditions?.some(({ type }) => type === "PodResizeInProgress") === true;

test("a condition of a patch whose answer was lost is removed, though the watch shows it only after later changes", async () => {
  const { clock, sent, versions, loseAnswer, reported, watched, end } = world();
  const runs = view([sandbox()], [instance("app", "running")]);
  await reported(runs);
  await watched(versions[0] ?? assert.fail());
  loseAnswer();
  await reported(runs, RUNS, { resize: { generation: 2, error: "" } });
  await reported(view([sandbox()], [instance("app", "exited")]));
  await clock.advance(10_000);
  await watched(versions.at(-1) ?? assert.fail());
  await clock.advance(60_000);
  assert.ok(isResizing(versions[1] ?? assert.fail()), "the server stored the condition");
  assert.ok(!isResizing(versions.at(-1) ?? assert.fail()), "a later patch removed the condition");
  assert.ok(sent.length <= 4, `${sent.length} patches`);
  await end();
});

test("late watch events of our own patches cause no further patch", async () => {
  const { clock, sent, versions, reported, watched, end } = world();
  const runs = view([sandbox()], [instance("app", "running")]);
  await reported(runs);
  await reported(runs, RUNS, { resize: { generation: 2, error: "" } });
  await reported(runs);
  assert.equal(sent.length, 3);
  for (const version of versions.slice()) await watched(version);
  await clock.advance(60_000);
  assert.equal(sent.length, 3);
  assert.ok(!isResizing(versions.at(-1) ?? assert.fail()));
  await end();
});
