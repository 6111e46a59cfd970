/**
 * Probes on real parts: the same pods under the Go kubelet and under Deckhand, in one cluster and at once. What becomes of them, what is told and
 * counted, and that a node whose agent is killed, goes without an API server, or is another's from one moment to the next keeps what it said.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Pod, Probe } from "../../src/api/gen/core-v1.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { NODES, nameOn, SIDES, type Side } from "../golden/sides.ts";
import { BothAgents } from "../support/both-agents.ts";
import { type ClusterPods, conditionOf, DEAF, podOn, STAY, sh } from "../support/cluster-pods.ts";
import type { ReadFamily } from "../support/exposition.ts";
import { neutralStatus, neutralText } from "../support/normal-form.ts";
import { figuresOf, labelNames, scrape } from "./node-metrics/scrape.ts";
import { CASES, isReady, type ProbeCase } from "./probes/cases.ts";

const AGENT = `kubelet@${NODES.deckhand}`;
const SERVER = "kube-apiserver";
/** As long as every probe here needs to be put several times. */
const SETTLE_MS = 8_000;

let both: BothAgents;
let cluster: Cluster;
let pods: ClusterPods;

before(async () => {
  both = await BothAgents.start();
  ({ cluster, pods } = both);
  await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=60s");
});

after(() => both.end());

/** Reason and message of what was told of a pod, once each, without addresses and ids. */
async function toldOf(name: string): Promise<ReadonlySet<string>> {
  const pod = pods.versions(name).at(-1)?.pod ?? assert.fail(`there is ${name}`);
  const events = await pods.eventsOf(name);
  return new Set(events.map(({ reason, message }) => `${reason} ${neutralText(message ?? "", pod)}`));
}

async function tells(name: string, texts: readonly string[]): Promise<void> {
  let told: ReadonlySet<string> = new Set();
  const isTold = async () => {
    told = await toldOf(name);
    return texts.every((text) => told.has(text));
  };
  await waitUntil(`what is told of ${name}`, 30_000, isTold, 500).catch((error: unknown) => {
    throw new Error(`of ${name} is told ${JSON.stringify([...told], null, 2)}`, { cause: error });
  });
}

const create = (side: Side, name: string, spec: ProbeCase["spec"]) =>
  pods.create(podOn(NODES[side], nameOn(side, name), spec));

describe("probes under both agents", () => {
  before(async () => {
    for (const [index, { name, spec }] of CASES.entries()) {
      for (const side of index % 2 === 0 ? SIDES : SIDES.toReversed()) await create(side, name, spec);
    }
  });

  for (const { name, rows, what, is, told } of CASES) {
    test(`${rows.map((row) => `[${row}]`).join(" ")} ${name}: it ${what}, and the same is told of it`, async () => {
      for (const side of SIDES) {
        await pods.first(nameOn(side, name), what, is, 120_000);
        await tells(nameOn(side, name), told);
      }
    });
  }

  test("[12.2] [12.3] [11.1] those that stay as they are have the same status in every field", async () => {
    const still = CASES.filter(({ what }) => what === "was ready" || what === "was unready");
    for (const { name } of still) {
      const [go, ours] = SIDES.map((side) => pods.latest(nameOn(side, name)));
      assert.ok(go !== undefined && ours !== undefined);
      const told = [...(await toldOf(nameOn("deckhand", name)))].join("\n");
      assert.equal(ours.status?.containerStatuses?.[0]?.restartCount, 0, `${name}: ${told}`);
      // Which address it has on the node's own network is the node's.
      if (name !== "http-host-network") assert.deepEqual(neutralStatus(ours), neutralStatus(go), name);
    }
  });

  test("[12.10] probes are counted and measured under the same names and labels, and forgotten with their pods", async () => {
    const ready = ["exec-ready", "http-ready", "tcp-ready", "grpc-ready"];
    const [go, ours] = await Promise.all(SIDES.map((side) => scrape(cluster, both.node(side), "/metrics/probes")));
    assert.ok(go !== undefined && ours !== undefined);
    for (const name of ["prober_probe_total", "prober_probe_duration_seconds"]) {
      const theirs: ReadFamily | undefined = go.get(name);
      const own: ReadFamily | undefined = ours.get(name);
      assert.ok(theirs !== undefined && own !== undefined, name);
      assert.deepEqual([own.kind, labelNames(own)], [theirs.kind, labelNames(theirs)]);
    }
    const successes = (side: Side, scraped: typeof go) =>
      ready.map((name) =>
        [...figuresOf(scraped.get("prober_probe_total"))].some(
          ([labels, count]) =>
            labels.includes(`pod=${nameOn(side, name)}`) && labels.includes("result=successful") && count > 0,
        ),
      );
    assert.deepEqual(
      [successes("go", go), successes("deckhand", ours)],
      [ready.map(() => true), ready.map(() => true)],
    );
    const gone = nameOn("deckhand", "tcp-ready");
    await pods.delete(gone);
    await pods.gone(gone);
    await waitUntil("its figures to go", 10_000, async () => {
      const now = await scrape(cluster, both.node("deckhand"), "/metrics/probes");
      return [...figuresOf(now.get("prober_probe_total")).keys()].every((labels) => !labels.includes(gone));
    });
  });

  test("[12.8] [7.14] a container that is killed for a probe has the probe's grace, on the wire too", async () => {
    const livenessProbe: Probe = {
      exec: { command: ["false"] },
      periodSeconds: 1,
      failureThreshold: 1,
      initialDelaySeconds: 2,
      terminationGracePeriodSeconds: 4,
    };
    const spec = { terminationGracePeriodSeconds: 500, containers: [{ ...DEAF, livenessProbe }] };
    for (const side of SIDES) {
      const pod = await create(side, "grace", spec);
      await pods.first(nameOn(side, "grace"), "was restarted", isRestarted, 60_000);
      const stops = both.proxy(side).calls.filter(({ method }) => method === "StopContainer");
      const [id] = (pods.latest(nameOn(side, "grace"))?.status?.containerStatuses ?? []).map(({ lastState }) =>
        lastState?.terminated?.containerID?.replace(/^.*:\/\//, ""),
      );
      const own = stops.find((call) => call.id === id);
      assert.equal(
        String((own?.request as { readonly timeout?: unknown } | undefined)?.timeout),
        "4",
        `${side} ${pod.metadata?.name}`,
      );
      await pods.delete(nameOn(side, "grace"), 0);
    }
  });

  test("[12.1] a probe is put from its initial delay on, and it takes as many answers in a row as its threshold says", async () => {
    const readinessProbe: Probe = {
      exec: { command: ["true"] },
      initialDelaySeconds: 6,
      periodSeconds: 3,
      successThreshold: 3,
      timeoutSeconds: 10,
    };
    for (const side of SIDES) await create(side, "patient", { containers: [{ ...sh(STAY), readinessProbe }] });
    for (const side of SIDES) {
      const pod = await pods.first(nameOn(side, "patient"), "was ready", isReady, 90_000);
      const startedAt = pod.status?.containerStatuses?.[0]?.state?.running?.startedAt ?? "";
      const waitedMs = Date.parse(conditionOf(pod, "Ready")?.lastTransitionTime ?? "") - Date.parse(startedAt);
      // Both are told in whole seconds. The Go kubelet puts it more often while a pod is not ready.
      const leastMs = side === "go" ? 6_000 : 12_000;
      assert.ok(waitedMs >= leastMs - 1_000 && waitedMs <= 45_000, `${side}: ready ${waitedMs} ms after its start`);
    }
  });

  // Over HTTP: the Go kubelet v1.36 cancels exec probes with the pod's last ordinary sync.
  test("[12.9] while a pod ends its readiness is asked and its liveness is not", async () => {
    const draining = sh(
      "mkdir /tmp/www; touch /tmp/www/ok; httpd -p 8080 -h /tmp/www; trap 'rm /tmp/www/ok; sleep 12; exit 0' TERM; while :; do sleep 1000 & wait; done",
    );
    const probe: Probe = {
      httpGet: { path: "/ok", port: 8080 },
      periodSeconds: 1,
      failureThreshold: 1,
      initialDelaySeconds: 3,
      // A busy machine must not decide.
      timeoutSeconds: 10,
    };
    const spec = {
      terminationGracePeriodSeconds: 60,
      containers: [{ ...draining, livenessProbe: probe, readinessProbe: probe }],
    };
    for (const side of SIDES) {
      const name = nameOn(side, "draining");
      await create(side, "draining", spec);
      await pods.running(name);
      await pods.delete(name);
      const isDraining = (pod: Pod) =>
        pod.metadata?.deletionTimestamp !== undefined &&
        pod.status?.containerStatuses?.[0]?.state?.running !== undefined &&
        conditionOf(pod, "Ready")?.status === "False";
      await pods.first(name, "was unready while it ended", isDraining, 40_000);
      await pods.gone(name);
      const ended = pods
        .versions(name)
        .flatMap(({ pod }) => pod.status?.containerStatuses?.[0]?.state?.terminated ?? []);
      assert.deepEqual([...new Set(ended.map(({ exitCode }) => exitCode))], [0], `${side}: it came to its own end`);
      const told = [...(await toldOf(name))].filter((text) => text.includes("statuscode"));
      assert.deepEqual(told, ["Unhealthy Readiness probe failed: HTTP probe failed with statuscode: 404"], side);
    }
  });
});

const isRestarted = (pod: Pod) => (pod.status?.containerStatuses?.[0]?.restartCount ?? 0) >= 1;

/** Whose word a pod's condition may be, beside the agent's: of a node that is silent the cluster itself says that its pods are not ready. */
type Words = "all" | "agent";

/** What a restart of an agent must not change, of each pod that stays as it is on a node. */
function keptOf(side: Side, words: Words): ReadonlyMap<string, unknown> {
  const names = CASES.filter(({ what }) => what === "was ready" || what === "was unready")
    .map(({ name }) => nameOn(side, name))
    .filter((name) => pods.latest(name) !== undefined);
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

/** Also in between: every version that was seen since. */
async function changesNothing(side: Side, words: Words, act: () => Promise<void>): Promise<void> {
  const before = keptOf(side, words);
  const seen = new Map([...before.keys()].map((name) => [name, pods.versions(name).length]));
  await act();
  await pause(SETTLE_MS);
  assert.deepEqual(keptOf(side, words), before);
  for (const [name, count] of seen) {
    for (const { pod } of pods.versions(name).slice(count)) {
      assert.deepEqual(keptOfPod(pod, words), before.get(name), name);
    }
  }
}

describe("what probes have said outlives the agent that asked", () => {
  test("[11.12] an agent that is killed and comes back changes nobody's readiness, nor a time of transition", async () => {
    await changesNothing("deckhand", "all", async () => {
      const agent = cluster.component(AGENT);
      for (let round = 0; round < 3; round += 1) {
        await agent.kill();
        await agent.restart();
        await pause(3_000);
      }
    });
  });

  test("[11.12] nor does one that comes back while the API server is away, nor the API server's return", async () => {
    await changesNothing("deckhand", "agent", async () => {
      await cluster.component(AGENT).kill();
      await cluster.component(SERVER).kill();
      await cluster.component(AGENT).restart();
      await pause(SETTLE_MS);
      await cluster.component(SERVER).restart();
      await waitUntil("the API server", 60_000, async () => (await cluster.kubectl("get", "--raw=/readyz")) === "ok");
    });
  });

  test("[11.12] nor does ours when it takes a node over from the Go kubelet", async () => {
    await changesNothing("go", "agent", async () => {
      await cluster.changeAgent(NODES.go, "deckhand");
    });
  });

  test("[12.7] an agent that comes back asks on: what fails from then on is killed", async () => {
    const victim = nameOn("deckhand", "exec-ready");
    await cluster.component(AGENT).kill();
    await cluster.component(AGENT).restart();
    const isRemoved = () =>
      cluster.kubectl("exec", victim, "--", "rm", "-f", "/tmp/ok").then(
        () => true,
        () => false,
      );
    await waitUntil("the agent to answer", 30_000, isRemoved);
    const isUnready = (pod: Pod) => conditionOf(pod, "Ready")?.status === "False";
    await pods.first(victim, "was unready", isUnready, 30_000);
  });
});
