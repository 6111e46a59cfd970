/**
 * Pods whose resources change while they run: Deckhand publishes, reports and requests from the runtime what the Go
 * kubelet does. A node that changes its agent in the middle of a resize continues where it was.
 */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import type { Pod, PodCondition } from "../../src/api/gen/core-v1.ts";
import { decodeCheckpoint } from "../../src/domain/resize/checkpoint.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { Recording } from "../golden/recording.ts";
import { SEQUENCE } from "../golden/sequence.ts";
import { comparisonMode, deckhandTest, NODES, nameOn, SIDES, type Side } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { type ClusterPods, conditionOf, podOn, SLEEPER } from "../support/cluster-pods.ts";
import { answered, runsOf } from "../support/cri-log.ts";
import { failedStart } from "../support/failed-start.ts";
import { onMachine } from "../support/node-files.ts";
import { neutralEvents, neutralStatus, sorted } from "../support/normal-form.ts";
import { Observed } from "../support/observed.ts";
import { podSequence } from "../support/pod-sequence.ts";
import { neutralMessage } from "../support/runtime-messages.ts";
import { settled } from "../support/settled.ts";
import { figuresOf, scrape } from "./node-metrics/scrape.ts";
import { CASES, type Ending } from "./resize/cases.ts";

const recording = Recording.open("resize");
const REFUSAL = { code: 2, details: "the runtime refuses" };

/** Concurrent pods on a node; fewer with both agents on the machine. */
const AT_ONCE = comparisonMode === "recorded" ? 24 : 8;
const WAIT_MS = 120_000;

let both: BothAgents;
let cluster: Cluster;
let pods: ClusterPods;

before(async () => {
  both = await BothAgents.start();
  ({ cluster, pods } = both);
  await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=60s");
});

after(() => both.end());

/** Returns the generation of the changed spec. */
async function resize(name: string, change: object): Promise<number> {
  const patch = ["--subresource", "resize", "--patch", JSON.stringify(change)];
  const answer = await cluster.kubectl("patch", "pod", name, ...patch, "-o", "json");
  return (JSON.parse(answer) as Pod).metadata?.generation ?? 0;
}

/** Resizes a pod, and returns it once this change has reached the ending. */
async function resizeTo(name: string, change: object, ending: Ending): Promise<Pod> {
  const generation = await resize(name, change);
  const isNow = (pod: Pod) => (pod.metadata?.generation ?? 0) >= generation && HAS_ENDED[ending](pod);
  return pods.first(name, `was ${ending}`, isNow, WAIT_MS);
}

/**
 * In CrashLoopBackOff, with twenty seconds or more until the next start: the runtime would get the change of a
 * container that happens to run.
 */
const isLooping = ({ status }: Pod) =>
  status?.containerStatuses?.some(
    ({ state, restartCount }) => state?.waiting?.reason === "CrashLoopBackOff" && restartCount > 0,
  ) === true;
/** In this suite init containers keep running. */
const isSettingUp = ({ spec, status }: Pod) =>
  status?.initContainerStatuses?.some(
    ({ name, state }) =>
      state?.running !== undefined &&
      spec?.initContainers?.find((one) => one.name === name)?.restartPolicy === undefined,
  ) === true;
const isUp = (pod: Pod) => conditionOf(pod, "Ready")?.status === "True" || isLooping(pod) || isSettingUp(pod);

const pending = (pod: Pod) => conditionOf(pod, "PodResizePending");
const inProgress = (pod: Pod) => conditionOf(pod, "PodResizeInProgress");

const HAS_ENDED: Readonly<Record<Ending, (pod: Pod) => boolean>> = {
  done: (pod) => pending(pod) === undefined && inProgress(pod) === undefined && hasWhatItWants(pod),
  deferred: (pod) => pending(pod)?.reason === "Deferred" && isSeen(pod, pending(pod)),
  error: (pod) => inProgress(pod)?.reason === "Error" && isSeen(pod, inProgress(pod)),
};

const isSeen = ({ metadata }: Pod, condition: PodCondition | undefined) =>
  condition?.observedGeneration === metadata?.generation;

/** Whether the status shows the wanted resources, once it covers the last change. */
function hasWhatItWants({ metadata, spec, status }: Pod): boolean {
  if ((status?.observedGeneration ?? 0) < (metadata?.generation ?? 0)) return false;
  const reported = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].every(({ name, resources }) => {
    const own = reported.find((one) => one.name === name);
    // A container that was never created has no resources.
    if (own?.containerID === undefined) return true;
    const wants = { limits: resources?.limits ?? {}, requests: resources?.requests ?? {} };
    const has = { limits: own?.resources?.limits ?? {}, requests: own?.resources?.requests ?? {} };
    return JSON.stringify(sorted(wants)) === JSON.stringify(sorted(has));
  });
}

async function follow(name: string, side: Side): Promise<Pod> {
  const { spec, changes, ending } = CASES[name] ?? assert.fail(name);
  const own = nameOn(side, name);
  await pods.create(podOn(NODES[side], own, spec));
  await pods.first(own, "is up", isUp, WAIT_MS);
  for (const change of changes) await resizeTo(own, change, ending);
  const latest = () => pods.latest(own) ?? assert.fail(own);
  // What follows at once, such as a container's restart, belongs to the resize.
  await pause(3_000);
  await waitUntil(`${own} to be up again`, WAIT_MS, () =>
    Promise.resolve(isUp(latest()) && HAS_ENDED[ending](latest())),
  );
  return latest();
}

/** The UpdateContainerResources requests for a pod's containers, in order. */
function updatesOf(pod: Pod, side: Side): readonly unknown[] {
  const runs = runsOf(both.proxy(side).calls, pod.metadata?.uid ?? "");
  const names = new Map(runs.map(({ id, container }) => [id, container]));
  return answered(both.proxy(side).calls, "UpdateContainerResources")
    .filter(({ id }) => names.has(id))
    .map(({ id, request }) => [names.get(id), neutralMessage(request, pod, NODES[side])]);
}

/** What Deckhand appends to the Go kubelet's message. */
const WAITS_FOR = /(?<=capacity: \d+); [^"]*/;

/**
 * Without what depends on the machine and the moment: its capacity, what other pods hold, and usage, which the Go
 * kubelet reads some seconds late.
 */
const neutral = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(new RegExp(WAITS_FOR, "g"), "")
      .replaceAll(/used: \d+/g, "used: <used>")
      .replaceAll(/capacity: \d+/g, "capacity: <capacity>")
      .replaceAll(/cannot decrease memory limits: (?:[^"\\]|\\+")*(?=")/g, "cannot decrease memory limits"),
  );

/**
 * The status without what the Go kubelet derives from its earlier statuses of a pod as a whole: it keeps the memory
 * that was requested first, and publishes the kernel's value for "no limit".
 */
function statusOf(pod: Pod): unknown {
  const { resources } = pod.status ?? {};
  const { memory: _, ...requests } = resources?.requests ?? {};
  const { memory, ...limits } = resources?.limits ?? {};
  const isLimited = memory !== undefined && !memory.startsWith("9007199254740988");
  return neutral({
    ...neutralStatus(pod),
    resources: { requests, limits: { ...limits, ...(isLimited && { memory }) } },
  });
}

const STARTED = "Pod resize started: ";
const COMPLETED = "Pod resize completed: ";

async function eventsOf(name: string, side: Side, pod: Pod): Promise<readonly string[]> {
  const events = neutralEvents(await pods.eventsOf(nameOn(side, name)), pod);
  return [...new Set([...events.keys()].map((text) => neutral(text) as string))].toSorted();
}

/**
 * The Go kubelet may report a resize as completed before it has begun, with the pod's old resources: a race that its
 * own source names.
 */
const withoutCompleted = (events: readonly string[]) => events.filter((text) => !text.includes(COMPLETED));

const restartsOfAll = (pod: Pod) => (pod.status?.containerStatuses ?? []).map((one) => [one.name, one.restartCount]);

describe("resizes", () => {
  const observed = new Observed<Pod>();
  const of = (name: string, side: Side) => observed.of(name, side);

  before(() => observed.observe(Object.keys(CASES), AT_ONCE, follow));

  for (const [name, { rows, restarts = [], goesOn, ending }] of Object.entries(CASES)) {
    test(`${rows.map((row) => `[${row}]`).join(" ")} ${name}: status, events and runtime requests are the Go kubelet's`, async () => {
      if (goesOn !== true) await recording.check(`${name} status`, (side) => statusOf(of(name, side)));
      const events = `${name} events`;
      await recording.check(events, (side) =>
        settled(recording, events, async () => withoutCompleted(await eventsOf(name, side, of(name, side)))),
      );
      if (goesOn !== true) await recording.check(`${name} ${SEQUENCE}`, (side) => sequenceOf(name, side));
      for (const side of SIDES) {
        const wanted = (of(name, side).spec?.containers ?? []).map((one) => [
          one.name,
          restarts.includes(one.name) ? 1 : 0,
        ]);
        if (goesOn !== true) assert.deepEqual(restartsOfAll(of(name, side)), wanted);
      }
      if (ending === "done") {
        await recording.check(`${name} UpdateContainerResources`, (side) => updatesOf(of(name, side), side));
        if (comparisonMode !== "record") await completesWhatItStarted(name);
      }
      await recording.check(`${name} reasons`, (side) => ({
        pending: pending(of(name, side))?.reason,
        inProgress: inProgress(of(name, side))?.reason,
      }));
    });
  }

  const sequenceOf = (name: string, side: Side) =>
    podSequence(both, nameOn(side, name), side, {
      last: of(name, side),
      statusOf,
      neutral: (text) => neutral(text) as string,
      isByChance: (event) => event.includes(COMPLETED),
    });

  async function completesWhatItStarted(name: string): Promise<void> {
    const events = await eventsOf(name, "deckhand", of(name, "deckhand"));
    const after = (words: string) => events.flatMap((text) => text.split(words)[1] ?? []);
    assert.deepEqual(after(COMPLETED), after(STARTED));
  }

  test("[8.2] [11.4] the message of a deferred resize names the pods it waits for, after the Go kubelet's message", async () => {
    await recording.check("too-much-now message", (side) => {
      const { message = "" } = pending(of("too-much-now", side)) ?? {};
      if (side === "deckhand") assert.match(message, WAITS_FOR);
      return neutral(message);
    });
  });

  test("[8.3] [8.6] a deferred resize is granted when another pod is deleted, and counted in the same metrics", async () => {
    const own = SIDES.map((side) => nameOn(side, "holder"));
    for (const side of SIDES) {
      // While a pod-level resize is deferred, the Go kubelet does not count what it grants.
      await pods.delete(nameOn(side, "pod-level-too-much-now"), 1);
      await pods.gone(nameOn(side, "pod-level-too-much-now"));
      const holder = { ...SLEEPER, resources: { requests: { cpu: "900m" } } };
      await pods.create(podOn(NODES[side], nameOn(side, "holder"), { containers: [holder] }));
      await pods.create(
        podOn(NODES[side], nameOn(side, "waits"), {
          containers: [{ ...SLEEPER, resources: { requests: { cpu: "10m" } } }],
        }),
      );
    }
    for (const name of [...own, ...SIDES.map((side) => nameOn(side, "waits"))])
      await pods.first(name, "is up", isUp, WAIT_MS);
    const change = { spec: { containers: [{ name: "main", resources: { requests: { cpu: "700m" } } }] } };
    for (const side of SIDES) await resizeTo(nameOn(side, "waits"), change, "deferred");
    for (const name of own) await pods.delete(name, 1);
    const isGranted = (pod: Pod) => (pod.metadata?.generation ?? 0) > 1 && HAS_ENDED.done(pod);
    for (const side of SIDES) await pods.first(nameOn(side, "waits"), "is granted", isGranted, WAIT_MS);
    const families = [
      "kubelet_container_requested_resizes_total",
      "kubelet_pod_deferred_accepted_resizes_total",
      "kubelet_pod_in_progress_resizes",
      "kubelet_pod_pending_resizes",
    ];
    const scraped = (side: Side) => scrape(cluster, both.node(side), "/metrics");
    for (const family of families) {
      await recording.check(family, (side) =>
        settled(recording, family, async () => figuresOf((await scraped(side)).get(family))),
      );
    }
    for (const side of SIDES) {
      const found = await scraped(side);
      const accepted = found.get("kubelet_pod_deferred_accepted_resizes_total");
      assert.deepEqual(figuresOf(accepted), new Map([["retry_trigger=pod_terminated", 1]]), side);
      assert.equal(found.get("kubelet_pod_resize_duration_milliseconds")?.kind, "histogram", side);
    }
  });

  test("[8.2] [8.4] refused UpdateContainerResources gives the Go kubelet's condition and events, and is retried until it succeeds", async () => {
    const question = "the runtime refuses UpdateContainerResources";
    await recording.check(question, async (side) => {
      const name = nameOn(side, "refused-update");
      const resources = { requests: { cpu: "10m" }, limits: { cpu: "100m" } };
      await pods.create(podOn(NODES[side], name, { containers: [{ ...SLEEPER, resources }] }));
      const { status } = await pods.first(name, "is up", isUp, WAIT_MS);
      const id = status?.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, "");
      const unhook = both.proxy(side).hook("UpdateContainerResources", {
        before: (request) => {
          if ((request as { readonly containerId?: string }).containerId === id) throw REFUSAL;
        },
      });
      const change = { spec: { containers: [{ name: "main", resources: { limits: { cpu: "150m" } } }] } };
      try {
        const refused = await resizeTo(name, change, "error");
        const { reason, message } = inProgress(refused) ?? {};
        const events = await settled(recording, question, async () => ({
          reason,
          message: neutral(message),
          events: withoutCompleted(await eventsOf("refused-update", side, refused)),
        }));
        return events;
      } finally {
        unhook();
        await pods.first(name, "is done", (pod) => pod.metadata?.generation === 2 && HAS_ENDED.done(pod), WAIT_MS);
      }
    });
  });

  test("[27.1.27] [27.2.4] the checkpoint files have the Go kubelet's checksum and content", async () => {
    const done = Object.keys(CASES).filter((name) => CASES[name]?.ending === "done");
    for (const file of ["allocated_pods_state", "actuated_pods_state"]) {
      await recording.check(file, async (side) => {
        const found = decodeCheckpoint(await readFile(onMachine(both.node(side), `/var/lib/kubelet/${file}`), "utf8"));
        assert.ok(found.kind === "read", side);
        return new Map(done.map((name) => [name, found.pods.get(of(name, side).metadata?.uid ?? "")]));
      });
    }
  });
});

describe("a node changes its agent while pods are resized", () => {
  const NAMES = ["granted-by-go", "granted-by-ours"] as const;
  const RESTARTING = {
    containers: [
      {
        ...SLEEPER,
        resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: { cpu: "100m", memory: "64Mi" } },
        resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }],
      },
    ],
  };
  const cpu = (limit: string) => ({ spec: { containers: [{ name: "main", resources: { limits: { cpu: limit } } }] } });
  const restartsOf = (name: string) => pods.latest(name)?.status?.containerStatuses?.[0]?.restartCount;

  deckhandTest(
    "[8.1] [5.13] [27.1.27] from Deckhand to the Go kubelet and back: nothing restarts, and each continues with what the other granted",
    async () => {
      const node = NODES.deckhand;
      for (const name of NAMES) {
        await pods.create(podOn(node, name, RESTARTING));
        await pods.first(name, "is up", isUp, WAIT_MS);
      }
      await resizeTo("granted-by-ours", cpu("120m"), "done");
      await pause(2_000);
      await cluster.changeAgent(node, "go");
      await resizeTo("granted-by-go", cpu("130m"), "done");
      await resizeTo("granted-by-ours", cpu("140m"), "done");
      await cluster.changeAgent(node, "deckhand");
      await resizeTo("granted-by-go", cpu("150m"), "done");
      await pause(5_000);
      assert.deepEqual(NAMES.map(restartsOf), [0, 0]);
      for (const name of NAMES) {
        const unwanted = (await pods.eventsOf(name)).filter(
          ({ reason }) => reason === "ResizeError" || reason === "Killing",
        );
        assert.deepEqual(unwanted, [], name);
      }
    },
  );

  deckhandTest(
    "[27.1.27] a corrupt checkpoint ends the agent's start in strict mode; in enhanced mode it is renamed, and the agent still manages its pods",
    async () => {
      const node = both.node("deckhand");
      const file = onMachine(node, "/var/lib/kubelet/allocated_pods_state");
      const agent = cluster.component(`kubelet@${node.name}`);
      await agent.kill();
      await writeFile(file, '{"data":"{}","checksum":1}');
      const flags = (mode: string) => ({ flags: [`--deckhand-compatibility=${mode}`] });
      assert.match(
        await failedStart(cluster, node.name, flags("strict")),
        /command failed.* please drain this node and delete pod resource information checkpoint file/,
      );
      assert.equal(await readFile(file, "utf8"), '{"data":"{}","checksum":1}');
      await cluster.changeAgent(node.name, "deckhand", flags("enhanced"));
      await resizeTo("granted-by-go", cpu("160m"), "done");
      assert.equal(await readFile(`${file}.corrupt`, "utf8"), '{"data":"{}","checksum":1}');
      await waitUntil("a whole one to be written", 30_000, async () => {
        const text = await readFile(file, "utf8").catch(() => "");
        return decodeCheckpoint(text).kind === "read";
      });
      assert.deepEqual(NAMES.map(restartsOf), [0, 0]);
    },
  );

  deckhandTest("every answer was compared with the recording", () => {
    figure("values compared", recording.compared, "values");
    assert.ok(recording.compared > 0);
  });
});
