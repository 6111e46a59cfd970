/** Compares the metrics of a Deckhand node with those of a Go kubelet under the same load. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { gunzipSync } from "node:zlib";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { command } from "../cluster/command.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { neutralJson } from "../golden/answers.ts";
import { Recording, readRecording } from "../golden/recording.ts";
import { comparisonMode, deckhandTest, NODES, SIDES, type Side } from "../golden/sides.ts";
import { type ReadFamily, readExposition } from "../support/exposition.ts";
import { metricsTable } from "../support/metrics-table.ts";
import { OWN_PACE, OWN_VALUE, SAME_GROWTH, SAME_GROWTH_OF, SAME_VALUE, STILL } from "./node-metrics/expectations.ts";
import { ask, figuresOf, growth, labelNames, type Scrape, scrape } from "./node-metrics/scrape.ts";

const SUITE = "node-metrics";
/** The Go kubelet counts its pods every two seconds and relists its runtime every second. */
const STEADY_MS = 6_000;

const recording = Recording.open(SUITE);
const table = metricsTable();
const listed = new Map(table.families.map((family) => [family.name, family]));
let cluster: Cluster;
let directory: string;
/** Scrapes before, during and after the load. */
const scrapes: Readonly<Record<Side, Scrape[]>> = { go: [], deckhand: [] };

const nodeOf = (side: Side): ClusterNode =>
  cluster.nodes.find(({ name }) => name === NODES[side]) ?? assert.fail(`no node for ${side}`);
const firstOf = (side: Side): Scrape => scrapes[side][0] ?? assert.fail(`${side} was not scraped`);
const lastOf = (side: Side): Scrape => scrapes[side].at(-1) ?? assert.fail(`${side} was not scraped`);

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "deckhand-metrics-"));
  const [tlsCertFile, tlsPrivateKeyFile] = [join(directory, "node.crt"), join(directory, "node.key")];
  const keys = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=node"];
  await command("openssl", ["req", "-x509", ...keys, "-days", "2", "-keyout", tlsPrivateKeyFile, "-out", tlsCertFile]);
  const options = { configuration: { tlsCertFile, tlsPrivateKeyFile } };
  cluster = await startCluster({ controlPlane: "full", nodes: SIDES.map((agent) => ({ agent, options })) });
  await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=60s");
  await cluster.kubectl("create", "configmap", "words", "--from-literal=greeting=hello");
  await haveTheImage();
  await waitUntil("every node to have listed its pods", 30_000, async () => {
    await look();
    return SIDES.every((side) => lastOf(side).has("kubelet_cgroup_version"));
  });
  for (const side of SIDES) scrapes[side].splice(0, scrapes[side].length - 1);
});

after(async () => {
  await cluster.down();
  await rm(directory, { recursive: true, force: true });
});

/**
 * Runs a pod with the image on every node before anything is counted: it is chance whether pods that need an image at
 * the same time share a pull.
 */
async function haveTheImage(): Promise<void> {
  const names = cluster.nodes.map(({ name }) => `warm-${name}`);
  const items = cluster.nodes.map(({ name }) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `warm-${name}` },
    spec: { nodeName: name, terminationGracePeriodSeconds: 0, containers: [container("sleep 1000")] },
  }));
  const file = join(directory, "warm.json");
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await cluster.kubectl("apply", "-f", file);
  await cluster.kubectl("wait", "--for=condition=Ready", "pod", ...names, "--timeout=60s");
  await cluster.kubectl("delete", "pod", ...names, "--timeout=60s");
  await waitUntil("every node to have counted the end of that", 30_000, async () => {
    await look();
    return SIDES.every((side) => (lastOf(side).get("kubelet_terminated_containers_total")?.samples.length ?? 0) > 0);
  });
}

async function look(): Promise<void> {
  for (const side of SIDES) scrapes[side].push(await scrape(cluster, nodeOf(side)));
}

/**
 * Scrapes until the values of each side are final. While recording, the values are final once they stop changing.
 * Otherwise they are final once they equal recorded ones, or when the time is up; the check that follows then fails.
 */
async function settled(questions: ReadonlyMap<string, (side: Side) => unknown>): Promise<void> {
  const read = () => neutralJson([...questions.values()].map((valueOf) => SIDES.map(valueOf)));
  const isRecorded = () =>
    [...questions].every(([question, valueOf]) => SIDES.every((side) => recording.matches(question, valueOf(side))));
  let before: unknown;
  let changedMs = performance.now();
  await waitUntil("the metrics to come to rest", 40_000, async () => {
    await look();
    if (comparisonMode !== "record") return isRecorded();
    const now = read();
    if (!isDeepStrictEqual(now, before)) changedMs = performance.now();
    before = now;
    return performance.now() - changedMs >= STEADY_MS;
  }).catch(() => assert.notEqual(comparisonMode, "record", "the metrics change for ever"));
}

async function settleAndCheck(questions: ReadonlyMap<string, (side: Side) => unknown>): Promise<void> {
  await settled(questions);
  for (const [question, valueOf] of questions) await recording.check(question, valueOf);
}

interface DescribedFamily {
  readonly kind: string;
  readonly labels: readonly string[];
}

const FAMILY = "family ";
/** Without the help text: Deckhand's differs. */
const described = (family: ReadFamily): DescribedFamily => ({ kind: family.kind, labels: labelNames(family) });

/** The Go kubelet's recorded metric families, by name. */
const familiesOfGo = (): ReadonlyMap<string, DescribedFamily> =>
  new Map(
    readRecording(SUITE)
      .filter(({ question }) => question.startsWith(FAMILY))
      .map(({ question, answers }) => [question.slice(FAMILY.length), answers[0] as DescribedFamily]),
  );

const isLeftOut = (name: string) => table.leftOut.some(({ match }) => new RegExp(match).test(name));
const waiting = new Set(table.waiting.map(({ name }) => name));

const mounts = { volumeMounts: ["words", "image"].map((name) => ({ name, mountPath: `/${name}` })) };
const volumes = [
  { name: "words", configMap: { name: "words" } },
  { name: "memory", emptyDir: {} },
  { name: "image", image: { reference: BUSYBOX_IMAGE, pullPolicy: "IfNotPresent" } },
];
const container = (script: string) => ({ name: "main", image: BUSYBOX_IMAGE, command: ["sh", "-c", script] });

/**
 * The first pod runs; the second fails once and then runs; the third terminates, with an image that is always pulled.
 */
const load = (node: string): readonly [object, object, object] => {
  const pod = (name: string, spec: object) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `${name}-${node}` },
    spec: { nodeName: node, terminationGracePeriodSeconds: 1, ...spec },
  });
  const once = "if [ -e /memory/seen ]; then sleep 1000; fi; touch /memory/seen; sleep 3; exit 7";
  return [
    pod("runs", { volumes, containers: [{ ...container("sleep 1000"), ...mounts }] }),
    pod("fails", {
      volumes,
      containers: [{ ...container(once), volumeMounts: [{ name: "memory", mountPath: "/memory" }] }],
    }),
    pod("ends", {
      hostUsers: false,
      restartPolicy: "Never",
      containers: [{ ...container("sleep 3"), imagePullPolicy: "Always" }],
    }),
  ];
};

const staticPod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "static", namespace: "default" },
  spec: { terminationGracePeriodSeconds: 1, containers: [container("sleep 1000")] },
};

const familiesOfBoth = (kind: "gauge" | "counted"): readonly string[] =>
  [...familiesOfGo()]
    .filter(([, { kind: each }]) => (each === "gauge") === (kind === "gauge"))
    .map(([name]) => name)
    .filter((name) => lastOf("deckhand").has(name));

/** Gauges that describe the machine, and their expected values. */
const MACHINE_VALUE: Readonly<Record<string, (side: Side) => Promise<number>>> = {
  process_max_fds: (side) => limitOf(side, "Max open files"),
  process_virtual_memory_max_bytes: (side) => limitOf(side, "Max address space"),
  kubelet_cgroup_version: async () => (existsSync("/sys/fs/cgroup/cgroup.controllers") ? 2 : 1),
};

async function limitOf(side: Side, name: string): Promise<number> {
  const { pid } = cluster.component(`kubelet@${NODES[side]}`);
  const limits = await readFile(`/proc/${pid}/limits`, "utf8");
  const value = new RegExp(`^${name} +(\\S+)`, "m").exec(limits)?.[1];
  return value === "unlimited" ? 2 ** 64 : Number(value);
}

void suite("metrics of a node", () => {
  test("every node carries a load", async () => {
    const file = join(directory, "load.json");
    const apply = async (items: readonly object[]) => {
      await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
      await cluster.kubectl("apply", "-f", file);
    };
    await apply(cluster.nodes.flatMap(({ name }) => load(name).slice(0, 2)));
    for (const node of cluster.nodes) {
      const manifests = join(node.directory, "manifests");
      await mkdir(manifests, { recursive: true });
      await writeFile(join(manifests, "static.json"), JSON.stringify(staticPod));
    }
    const phases = [
      "-o",
      "jsonpath={range .items[*]}{.metadata.name}={.status.phase}/{.status.containerStatuses[0].restartCount} {end}",
    ];
    // While the Go kubelet pulls an image, every other pod that needs the image pulls it, too.
    await waitUntil("all that have their image to run", 90_000, async () => {
      const said = await cluster.kubectl("get", "pods", ...phases);
      return said.match(/=Running/g)?.length === 3 * cluster.nodes.length;
    });
    await apply(cluster.nodes.map(({ name }) => load(name)[2]));
    await waitUntil("every pod to reach its last state", 90_000, async () => {
      const said = (await cluster.kubectl("get", "pods", ...phases)).trim().split(" ").toSorted();
      const expected = cluster.nodes.flatMap(({ name }) => [
        `ends-${name}=Succeeded/0`,
        `fails-${name}=Running/1`,
        `runs-${name}=Running/0`,
        `static-${name}=Running/0`,
      ]);
      return said.join(" ") === expected.toSorted().join(" ");
    });
  });

  test("[21.6][1.10][3.21] gauges of both agents are equal once they stop changing", async () => {
    const valueOf = (name: string) => (side: Side) => figuresOf(lastOf(side).get(name));
    await settleAndCheck(new Map(SAME_VALUE.map((name) => [`gauge ${name}`, valueOf(name)])));
    for (const side of SIDES) {
      for (const [name, expectedOf] of Object.entries(MACHINE_VALUE)) {
        const values = [...figuresOf(lastOf(side).get(name)).values()];
        assert.deepEqual(values, [await expectedOf(side)], `${side} ${name}`);
      }
    }
    if (comparisonMode === "record") return;
    const classified = [...SAME_VALUE, ...Object.keys(MACHINE_VALUE), ...Object.keys(OWN_VALUE)];
    assert.deepEqual(
      familiesOfBoth("gauge").filter((name) => !classified.includes(name)),
      [],
      "every gauge that both have is compared",
    );
    for (const [name, [atLeast, atMost]] of Object.entries(OWN_VALUE)) {
      for (const [key, value] of figuresOf(lastOf("deckhand").get(name)))
        assert.ok(value >= atLeast && value <= atMost, `${name}{${key}} is ${value}`);
    }
    const names = [...figuresOf(lastOf("deckhand").get("kubelet_node_name")).keys()];
    assert.equal(names.join(), `node=${NODES.deckhand}`);
  });

  test("[21.6][9.12][9.14] counters that depend on the load have grown by the same under both agents", async () => {
    const running = cluster.nodes.map(({ name }) => `runs-${name}`);
    await cluster.kubectl("delete", "pod", ...running, "--timeout=60s");
    const growthOf = (name: string) => (side: Side) => {
      const only = SAME_GROWTH_OF[name];
      const entries = Object.entries(growth(name, firstOf(side), lastOf(side)));
      return Object.fromEntries(entries.filter(([key]) => only === undefined || only.includes(key)));
    };
    const names = [...SAME_GROWTH, ...Object.keys(SAME_GROWTH_OF)];
    await settleAndCheck(new Map(names.map((name) => [`growth ${name}`, growthOf(name)])));
    if (comparisonMode === "record") return;
    const classified = [...names, ...Object.keys(OWN_PACE), ...Object.keys(STILL)];
    assert.deepEqual(
      familiesOfBoth("counted").filter((name) => !classified.includes(name)),
      [],
      "every counter that both have is compared",
    );
    for (const name of Object.keys(OWN_PACE)) {
      const grown = growth(name, firstOf("deckhand"), lastOf("deckhand"));
      assert.ok(Object.keys(grown).length > 0, `${name} has not grown`);
    }
  });

  test("[21.6][19.8] each metric family of the Go kubelet exists with its kind and labels, waits for a row, or is left out with a reason", async () => {
    if (comparisonMode === "record") {
      for (const [name, family] of lastOf("go")) await recording.check(FAMILY + name, () => described(family));
      return;
    }
    const [theirs, own] = [familiesOfGo(), lastOf("deckhand")];
    const unexplained = [...theirs.keys()].filter((name) => !own.has(name) && !isLeftOut(name) && !waiting.has(name));
    assert.deepEqual(unexplained, []);
    assert.deepEqual(
      [...own.keys()].filter((name) => isLeftOut(name) || waiting.has(name)),
      [],
      "what is here is not listed as missing",
    );
    const compared = [...own.values()].filter(({ name }) => theirs.has(name));
    for (const family of compared) {
      await recording.check(FAMILY + family.name, (side) =>
        described(lastOf(side).get(family.name) ?? assert.fail(`${side} has no ${family.name}`)),
      );
      const expected = listed.get(family.name);
      const { kind, labels } = described(family);
      assert.deepEqual([kind, labels], [expected?.kind, expected?.labels.toSorted()], family.name);
    }
    const gone = [...theirs.keys()].filter((name) => !own.has(name));
    figure("families compared", compared.length, "families");
    figure("families of the Go kubelet", theirs.size, "families");
    figure("families that wait", gone.filter((name) => waiting.has(name)).length, "families");
    figure("families left out", gone.filter(isLeftOut).length, "families");
    assert.ok(compared.length >= 70, String(compared.length));
  });

  test("[20.13][21.7][10.4] histogram bounds equal the Go kubelet's, in its notation", async () => {
    const isShown = (name: string) => (comparisonMode === "record" ? lastOf("go") : lastOf("deckhand")).has(name);
    const shown = comparisonMode === "record" ? lastOf("go") : familiesOfGo();
    const histograms = [...shown].flatMap(([name, { kind }]) =>
      kind === "histogram" && listed.has(name) && isShown(name) ? [name] : [],
    );
    assert.ok(histograms.length >= 15, String(histograms.length));
    for (const name of histograms) {
      await recording.check(`bounds ${name}`, (side) => [
        ...new Set(
          lastOf(side)
            .get(name)
            ?.samples.flatMap(({ labels }) => labels["le"] ?? []),
        ),
      ]);
    }
  });

  test("[20.13] promtool finds no error, and reports no other findings than for the Go kubelet", async () => {
    for (const path of ["/metrics", "/metrics/slis", "/metrics/probes"]) {
      // Of the Go kubelet's findings, only those about families that Deckhand also has count. Other families of
      // Deckhand may have no findings.
      await recording.check(`promtool ${path}`, async (side) => {
        const { findings, errors } = await checkedByPromtool(nodeOf(side), path);
        assert.deepEqual(errors, [], side);
        if (side === "deckhand") return findings;
        return findings.filter((finding) => listed.has(finding.split(" ")[0] ?? ""));
      });
    }
  });

  test("[20.13] formats and compression are negotiated as by the Go kubelet; OpenMetrics is served when only that is accepted", async () => {
    const prometheus =
      "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5," +
      "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    for (const path of ["/metrics", "/metrics/slis", "/metrics/probes"]) {
      for (const headers of [
        {},
        { Accept: prometheus },
        { Accept: "application/json" },
        { "Accept-Encoding": "gzip" },
      ]) {
        await recording.check(`format ${path} ${JSON.stringify(headers)}`, async (side) => {
          const answer = await ask(cluster, nodeOf(side), path, headers);
          assert.match(String(answer.headers["process-start-time-unix"]), /^\d{10}$/);
          return ["content-type", "content-encoding"].map((name) => answer.headers[name] ?? null);
        });
      }
    }
    if (comparisonMode === "record") return;
    const packed = await ask(cluster, nodeOf("deckhand"), "/metrics", { "Accept-Encoding": "gzip" });
    assert.ok(readExposition(gunzipSync(packed.body).toString()).size > 70);
    const accepts = { Accept: "application/openmetrics-text; version=1.0.0" };
    const open = await ask(cluster, nodeOf("deckhand"), "/metrics", accepts);
    assert.match(String(open.headers["content-type"]), /^application\/openmetrics-text; version=1\.0\.0/);
    assert.ok(readExposition(open.body.toString(), "openMetrics").size > 70);
  });

  test("[9.14] kubectl exec counts as a runtime operation, and reading stats does not", async () => {
    for (const node of cluster.nodes) {
      const { name } = node;
      await cluster.kubectl("exec", `fails-${name}`, "--", "true");
      assert.equal((await ask(cluster, node, "/stats/summary")).status, 200);
      const operations = async () => figuresOf((await scrape(cluster, node)).get("kubelet_runtime_operations_total"));
      await waitUntil(`${name} to count the command`, 10_000, async () => {
        return ((await operations()).get("operation_type=exec") ?? 0) > 0;
      });
      assert.equal((await operations()).get("operation_type=list_container_stats"), undefined, name);
    }
  });

  test("[20.13] health checks are counted at /metrics/slis", async () => {
    // Only the Go kubelet has a device plugin server to check so far (16.1).
    const isCommon = (key: string) => !key.startsWith("name=device-plugin,");
    for (const node of cluster.nodes) {
      assert.equal((await ask(cluster, node, "/healthz")).status, 200);
      let health = await scrape(cluster, node, "/metrics/slis");
      // A cached response is served for one second.
      await waitUntil("the checks to be counted", 10_000, async () => {
        health = await scrape(cluster, node, "/metrics/slis");
        return health.has("kubernetes_healthcheck");
      });
      const shown = (name: string) => [...figuresOf(health.get(name)).keys()].filter(isCommon).toSorted();
      assert.deepEqual(
        shown("kubernetes_healthcheck"),
        ["log", "ping", "syncloop"].map((name) => `name=${name},type=healthz`),
      );
      assert.deepEqual(
        shown("kubernetes_healthchecks_total"),
        ["log", "ping", "syncloop"].map((name) => `name=${name},status=success,type=healthz`),
      );
      assert.deepEqual(new Set(figuresOf(health.get("kubernetes_healthcheck")).values()), new Set([1]));
    }
  });

  deckhandTest("compares more than 700 values", () => {
    figure("values compared", recording.compared, "values");
    assert.ok(recording.compared > 700, String(recording.compared));
  });
});

interface Findings {
  /** Each finding begins with the name of its metric family. */
  readonly findings: readonly string[];
  readonly errors: readonly string[];
}

async function checkedByPromtool(node: ClusterNode, path: string): Promise<Findings> {
  const { body } = await ask(cluster, node, path);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const promtool = execFile("promtool", ["check", "metrics"], (error, stdout, stderr) => {
    // promtool exits with 3 when it has findings.
    if (error !== null && error.code !== 3) reject(new Error(`promtool of ${node.name}${path}: ${stderr}${stdout}`));
    else resolve(`${stdout}${stderr}`);
  });
  promtool.stdin?.end(body);
  const lines = (await promise).split("\n").filter((line) => line !== "");
  return {
    findings: lines.filter((line) => !line.startsWith("error")).toSorted(),
    errors: lines.filter((line) => line.startsWith("error")),
  };
}
