/**
 * Probes on real components: the same pods under Deckhand and the Go kubelet. The state of each pod, its events and its
 * metrics must equal those recorded for the Go kubelet. Probe results must survive when the agent is killed, runs
 * without an API server, or replaces the Go kubelet on a node.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Pod, Probe } from "../../src/api/gen/core-v1.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { Recording } from "../golden/recording.ts";
import { leavesCasesOut, matchLimitMs } from "../golden/selected-cases.ts";
import { SEQUENCE } from "../golden/sequence.ts";
import { comparisonMode, deckhandTest, NODES, nameOn, SIDES, type Side } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { type ClusterPods, conditionOf, DEAF, podOn, STAY, sh } from "../support/cluster-pods.ts";
import { neutralStatus, neutralText } from "../support/normal-form.ts";
import { podSequence } from "../support/pod-sequence.ts";
import { figuresOf, labelNames, type Scrape, scrape } from "./node-metrics/scrape.ts";
import { CASES, HOST_PORT, isReady, isStill, type ProbeCase, RESTARTED } from "./probes/cases.ts";

const AGENT = `kubelet@${NODES.deckhand}`;
const SERVER = "kube-apiserver";
/** Long enough for every probe here to run several times. */
const SETTLE_MS = 8_000;

const recording = Recording.open("probes");
let both: BothAgents;
let cluster: Cluster;
let pods: ClusterPods;
/** Where Deckhand runs alone, it replaces the Go kubelet on its node before all other tests. */
let assertTakenOver: () => void = () => assert.fail("Deckhand took no node over");

before(async () => {
  both = await BothAgents.start();
  ({ cluster, pods } = both);
  await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=60s");
});

after(() => both.end());

/** Refused connections to ports that a container of a case listens on. */
const REFUSED_WHILE_STARTING = /<address>:(?:8080|18765|5000)\b.*connect: connection refused/;

/**
 * Events that depend on timing. BackOff: it depends on the time of observation whether a container has failed for the
 * second time. Refused connections to a port that the container will listen on: it is chance whether a probe comes
 * before the container listens.
 */
const isByChance = (text: string): boolean => text.startsWith("BackOff ") || REFUSED_WHILE_STARTING.test(text);

/** Reason and message of a pod's events, once each, without addresses and ids. */
async function eventsOf(name: string): Promise<ReadonlySet<string>> {
  const pod = pods.versions(name).at(-1)?.pod ?? assert.fail(`there is ${name}`);
  const events = await pods.eventsOf(name);
  const texts = events.map(({ reason, message }) => `${reason} ${neutralText(message ?? "", pod)}`);
  return new Set(texts.filter((text) => !isByChance(text)));
}

/**
 * While recording, the reading that has stopped changing; otherwise the first that equals a recorded answer, or the
 * last.
 */
async function settled<T>(question: string, read: () => Promise<T>): Promise<T> {
  let reading = await read();
  let changedMs = performance.now();
  await waitUntil(question, matchLimitMs(30_000), async () => {
    const now = await read();
    if (!isDeepStrictEqual(now, reading)) changedMs = performance.now();
    reading = now;
    if (comparisonMode !== "record") return recording.matches(question, reading);
    return performance.now() - changedMs >= SETTLE_MS;
  }).catch(() => assert.notEqual(comparisonMode, "record", `${question}: it changes for ever`));
  return reading;
}

/** Digests of images that are built on each machine. */
const DIGEST = /\bsha256:[0-9a-f]{64}\b/g;

const statusIn = (pod: Pod): unknown =>
  JSON.parse(JSON.stringify(neutralStatus(pod)).replace(DIGEST, "sha256:<digest>"));

const statusOf = (name: string): unknown => statusIn(pods.latest(name) ?? assert.fail(`there is ${name}`));

/** The parts of a restarting container's status that do not depend on the time of observation. */
const restartOf = (pod: Pod): unknown => ({
  phase: pod.status?.phase,
  containers: (pod.status?.containerStatuses ?? []).map(({ name, lastState }) => ({
    name,
    exitCode: lastState?.terminated?.exitCode,
    reason: lastState?.terminated?.reason,
  })),
});

const create = (side: Side, name: string, spec: ProbeCase["spec"]) =>
  pods.create(podOn(NODES[side], nameOn(side, name), spec));

const GRACE: ProbeCase["spec"] = {
  terminationGracePeriodSeconds: 500,
  containers: [
    {
      ...DEAF,
      livenessProbe: {
        exec: { command: ["false"] },
        periodSeconds: 1,
        failureThreshold: 1,
        initialDelaySeconds: 2,
        terminationGracePeriodSeconds: 4,
      },
    },
  ],
};

const PATIENT: ProbeCase["spec"] = {
  containers: [
    {
      ...sh(STAY),
      readinessProbe: {
        exec: { command: ["true"] },
        initialDelaySeconds: 6,
        periodSeconds: 3,
        successThreshold: 3,
        timeoutSeconds: 10,
      },
    },
  ],
};

// HTTP probes, because the Go kubelet v1.36 cancels exec probes with the pod's last ordinary sync.
const DRAINING_PROBE: Probe = {
  httpGet: { path: "/ok", port: 8080 },
  periodSeconds: 1,
  failureThreshold: 1,
  initialDelaySeconds: 3,
  // A slow response of a busy machine must not fail the probe.
  timeoutSeconds: 10,
};

const DRAINING: ProbeCase["spec"] = {
  terminationGracePeriodSeconds: 60,
  containers: [
    {
      ...sh(
        "mkdir /tmp/www; touch /tmp/www/ok; httpd -p 8080 -h /tmp/www; " +
          "trap 'rm /tmp/www/ok; sleep 8; exit 0' TERM; while :; do sleep 1000 & wait; done",
      ),
      livenessProbe: DRAINING_PROBE,
      readinessProbe: DRAINING_PROBE,
    },
  ],
};

/** Deletes the pod once it runs, and returns when the pod is gone. */
async function drain(side: Side): Promise<void> {
  const name = nameOn(side, "draining");
  await pods.running(name, 120_000);
  await pods.delete(name);
  const isDraining = (pod: Pod) =>
    pod.metadata?.deletionTimestamp !== undefined &&
    pod.status?.containerStatuses?.[0]?.state?.running !== undefined &&
    conditionOf(pod, "Ready")?.status === "False";
  await pods.first(name, "was unready while it terminated", isDraining, 40_000);
  await pods.gone(name);
}

describe("probes under both agents", () => {
  let drained: PromiseSettledResult<void>[] | Promise<PromiseSettledResult<void>[]>;

  before(async () => {
    if (comparisonMode === "recorded" && !leavesCasesOut) assertTakenOver = await takeOver();
    const others = leavesCasesOut ? {} : { draining: DRAINING, patient: PATIENT, grace: GRACE };
    const all = [...CASES, ...Object.entries(others).map(([name, spec]) => ({ name, spec }))];
    for (const [index, { name, spec }] of all.entries()) {
      for (const side of index % 2 === 0 ? SIDES : SIDES.toReversed()) await create(side, name, spec);
    }
    drained = leavesCasesOut ? [] : Promise.allSettled(SIDES.map(drain));
  });

  for (const { name, rows, what, is, events } of CASES) {
    test(`${rows.map((row) => `[${row}]`).join(" ")} ${name}: it ${what}, with the same events`, async () => {
      const question = `${name} events`;
      await recording.check(question, async (side) => {
        await pods.first(nameOn(side, name), what, is, 120_000);
        return settled(question, () => eventsOf(nameOn(side, name)));
      });
      await recording.check(`${name} ${SEQUENCE}`, async (side) => {
        const last = await pods.first(nameOn(side, name), what, is);
        return podSequence(both, nameOn(side, name), side, { last, statusOf: statusIn, isByChance });
      });
      for (const side of SIDES) {
        const found = await eventsOf(nameOn(side, name));
        for (const text of events) assert.ok(found.has(text), `${side}: ${JSON.stringify([...found], null, 2)}`);
      }
    });
  }

  test("[12.2] [12.3] [11.1] pods that are not restarted have the same status in every field", async () => {
    for (const { name, what } of CASES.filter((each) => each.what !== RESTARTED)) {
      await recording.check(`${name} status`, (side) =>
        settled(`${name} status`, async () => statusOf(nameOn(side, name))),
      );
      if (!isStill({ what })) continue;
      for (const side of SIDES) {
        const texts = [...(await eventsOf(nameOn(side, name)))].join("\n");
        const [container] = pods.latest(nameOn(side, name))?.status?.containerStatuses ?? [];
        assert.equal(container?.restartCount, 0, `${side} ${name}: ${texts}`);
      }
    }
  });

  test("[12.7] restarted containers keep their exit code and reason in lastState", async () => {
    for (const { name, what, is } of CASES.filter((each) => each.what === RESTARTED)) {
      await recording.check(`${name} restart`, async (side) =>
        restartOf(await pods.first(nameOn(side, name), what, is)),
      );
    }
  });

  test("[12.10] probes are counted and timed in metrics of the same names and labels, which go with their pods", async () => {
    const ready = ["exec-ready", "http-ready", "tcp-ready", "grpc-ready"];
    const scrapes = new Map<Side, Scrape>();
    for (const side of SIDES) scrapes.set(side, await scrape(cluster, both.node(side), "/metrics/probes"));
    for (const name of ["prober_probe_total", "prober_probe_duration_seconds"]) {
      await recording.check(`family ${name}`, (side) => {
        const family = scrapes.get(side)?.get(name) ?? assert.fail(`${side} has no ${name}`);
        return { kind: family.kind, labels: labelNames(family) };
      });
    }
    for (const [side, scraped] of scrapes) {
      for (const name of ready) {
        const isCounted = [...figuresOf(scraped.get("prober_probe_total"))].some(
          ([labels, count]) =>
            labels.includes(`pod=${nameOn(side, name)}`) && labels.includes("result=successful") && count > 0,
        );
        assert.ok(isCounted, `${side} has counted no success of ${name}`);
      }
    }
    if (comparisonMode === "record") return;
    const gone = nameOn("deckhand", "tcp-ready");
    await pods.delete(gone);
    await pods.gone(gone);
    await waitUntil("its metrics to go", 10_000, async () => {
      const now = await scrape(cluster, both.node("deckhand"), "/metrics/probes");
      return [...figuresOf(now.get("prober_probe_total")).keys()].every((labels) => !labels.includes(`pod=${gone}`));
    });
  });

  test("[12.8] [7.14] a container killed for a probe gets the probe's grace period in StopContainer", async () => {
    for (const side of SIDES) {
      const name = nameOn(side, "grace");
      await pods.first(name, "was restarted", isRestarted, 60_000);
      const stops = both.proxy(side).calls.filter(({ method }) => method === "StopContainer");
      const [id] = (pods.latest(name)?.status?.containerStatuses ?? []).map(({ lastState }) =>
        lastState?.terminated?.containerID?.replace(/^.*:\/\//, ""),
      );
      const own = stops.find((call) => call.id === id);
      const timeout = (own?.request as { readonly timeout?: unknown } | undefined)?.timeout;
      assert.equal(String(timeout), "4", `${side} ${name}`);
      await pods.delete(name, 0);
    }
  });

  test("[12.1] a probe starts after initialDelaySeconds, and its container is ready after successThreshold successes", async () => {
    for (const side of SIDES) {
      const pod = await pods.first(nameOn(side, "patient"), "was ready", isReady, 90_000);
      const startedAt = pod.status?.containerStatuses?.[0]?.state?.running?.startedAt ?? "";
      const waitedMs = Date.parse(conditionOf(pod, "Ready")?.lastTransitionTime ?? "") - Date.parse(startedAt);
      // Both times are whole seconds. The Go kubelet runs the probe more often while a pod is not ready.
      const leastMs = side === "go" ? 6_000 : 12_000;
      assert.ok(waitedMs >= leastMs - 1_000 && waitedMs <= 45_000, `${side}: ready ${waitedMs} ms after its start`);
    }
  });

  test("[12.9] readiness probes run while a pod terminates, and liveness probes do not", async () => {
    for (const result of await drained) if (result.status === "rejected") throw result.reason;
    for (const side of SIDES) {
      const name = nameOn(side, "draining");
      const ended = pods
        .versions(name)
        .flatMap(({ pod }) => pod.status?.containerStatuses?.[0]?.state?.terminated ?? []);
      assert.deepEqual([...new Set(ended.map(({ exitCode }) => exitCode))], [0], `${side}: it came to its own end`);
      const texts = [...(await eventsOf(name))].filter((text) => text.includes("statuscode"));
      assert.deepEqual(texts, ["Unhealthy Readiness probe failed: HTTP probe failed with statuscode: 404"], side);
    }
  });

  deckhandTest("compares more than 1 000 values", () => {
    figure("values compared", recording.compared, "values");
    assert.ok(recording.compared > 1_000, String(recording.compared));
  });
});

const isRestarted = (pod: Pod) => (pod.status?.containerStatuses?.[0]?.restartCount ?? 0) >= 1;

/** Who writes a pod's conditions: the cluster's controllers also do, declaring the pods of a silent node not ready. */
type Words = "all" | "agent";

const STILL = CASES.filter(isStill);
const stillOn = (side: Side) => STILL.map(({ name }) => nameOn(side, name)).filter((name) => pods.latest(name));

/** What a restart of the agent must not change, for each pod in its final state on a node. */
function keptOf(names: readonly string[], words: Words): ReadonlyMap<string, unknown> {
  assert.ok(names.length > 15, `${names.length} pods`);
  return new Map(names.map((name) => [name, keptOfPod(pods.latest(name), words)]));
}

const keptOfPod = (pod: Pod | undefined, words: Words) => ({
  conditions: (pod?.status?.conditions ?? [])
    .filter(({ type }) => words === "all" || type !== "Ready")
    .map(({ type, status, lastTransitionTime }) => `${type} ${status} ${lastTransitionTime}`)
    .toSorted(),
  containers: (pod?.status?.containerStatuses ?? []).map(
    ({ containerID, ready, started, restartCount }) => `${containerID} ${ready} ${started} ${restartCount}`,
  ),
});

/** Remembers the current state of the pods. The returned function asserts that no later version of them differs. */
function watchUnchanged(names: readonly string[], words: Words): () => void {
  const before = keptOf(names, words);
  const seen = new Map(names.map((name) => [name, pods.versions(name).length]));
  return () => {
    assert.deepEqual(keptOf(names, words), before);
    for (const [name, count] of seen) {
      for (const { pod } of pods.versions(name).slice(count)) {
        assert.deepEqual(keptOfPod(pod, words), before.get(name), name);
      }
    }
  };
}

async function changesNothing(names: readonly string[], words: Words, act: () => Promise<void>): Promise<void> {
  const assertUnchanged = watchUnchanged(names, words);
  await act();
  await pause(SETTLE_MS);
  assertUnchanged();
}

/**
 * Pods that the Go kubelet runs on Deckhand's node before Deckhand replaces it: Deckhand has neither started nor seen
 * them.
 */
const taken = (name: string) => nameOn("deckhand", `taken-${name}`);
/** Uses another host port: a pod of another case on this node has the original one. */
const takenSpec = (spec: ProbeCase["spec"]) =>
  JSON.parse(JSON.stringify(spec).replaceAll(String(HOST_PORT), String(HOST_PORT + 1))) as ProbeCase["spec"];

async function takeOver(): Promise<() => void> {
  await cluster.changeAgent(NODES.deckhand, "go");
  for (const { name, spec } of STILL) await pods.create(podOn(NODES.deckhand, taken(name), takenSpec(spec)));
  for (const { name, what, is } of STILL) await pods.first(taken(name), what, is, 120_000);
  const assertUnchanged = watchUnchanged(
    STILL.map(({ name }) => taken(name)),
    "agent",
  );
  await cluster.changeAgent(NODES.deckhand, "deckhand");
  return assertUnchanged;
}

describe("probe results survive the agent", () => {
  deckhandTest(
    "[11.12] replacing the Go kubelet with Deckhand changes no readiness and no transition time",
    async () => {
      if (comparisonMode === "live") {
        await changesNothing(stillOn("go"), "agent", () => cluster.changeAgent(NODES.go, "deckhand"));
        return;
      }
      // The probes of these pods have run many times since Deckhand replaced the Go kubelet: all other tests ran in
      // between.
      assertTakenOver();
      for (const { name } of STILL) await pods.delete(taken(name));
    },
  );

  deckhandTest(
    "[11.12] an agent that is killed and restarted changes no pod's readiness and no transition time",
    async () => {
      await changesNothing(stillOn("deckhand"), "all", async () => {
        const agent = cluster.component(AGENT);
        for (let round = 0; round < 3; round += 1) {
          if (round > 0) await pause(3_000);
          await agent.kill();
          await agent.restart();
        }
      });
    },
  );

  deckhandTest(
    "[11.12] an agent restarted without an API server changes no readiness, nor does the API server's return",
    async () => {
      await changesNothing(stillOn("deckhand"), "agent", async () => {
        await cluster.component(AGENT).kill();
        await cluster.component(SERVER).kill();
        await cluster.component(AGENT).restart();
        await pause(SETTLE_MS);
        await cluster.component(SERVER).restart();
        await waitUntil("the API server", 60_000, async () => (await cluster.kubectl("get", "--raw=/readyz")) === "ok");
      });
    },
  );

  deckhandTest(
    "[12.7] restarted agent runs the probes: a failing container becomes unready or is restarted",
    async () => {
      const [unready, dying] = [nameOn("deckhand", "exec-ready"), nameOn("deckhand", "startup-ready")];
      await cluster.component(AGENT).kill();
      await cluster.component(AGENT).restart();
      const remove = (name: string) => () =>
        cluster.kubectl("exec", name, "--", "rm", "-f", "/tmp/ok").then(
          () => true,
          () => false,
        );
      for (const name of [unready, dying]) await waitUntil("the agent to answer", 30_000, remove(name));
      const isUnready = (pod: Pod) => conditionOf(pod, "Ready")?.status === "False";
      await pods.first(unready, "was unready", isUnready, 30_000);
      await pods.first(dying, "was restarted", isRestarted, 60_000);
      const events = await eventsOf(dying);
      assert.ok(events.has("Killing Container main failed liveness probe, will be restarted"), [...events].join("\n"));
    },
  );
});
