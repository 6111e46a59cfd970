/** The figures of a node of Deckhand's beside those of a Go kubelet, after both have carried the same load. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { gunzipSync } from "node:zlib";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { command } from "../cluster/command.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { waitUntil } from "../cluster/wait.ts";
import { readExposition } from "../support/exposition.ts";
import { metricsTable } from "../support/metrics-table.ts";
import { OWN_PACE, OWN_VALUE, SAME_GROWTH, SAME_GROWTH_OF, SAME_VALUE, STILL } from "./node-metrics/expectations.ts";
import { ask, figuresOf, growth, labelNames, type Scrape, scrape } from "./node-metrics/scrape.ts";

const table = metricsTable();
let cluster: Cluster;
let go: ClusterNode;
let ours: ClusterNode;
let folder: string;
/** Before the load, while it runs, and after it. */
const goScrapes: Scrape[] = [];
const ourScrapes: Scrape[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "deckhand-metrics-"));
  const [tlsCertFile, tlsPrivateKeyFile] = [join(folder, "node.crt"), join(folder, "node.key")];
  const keys = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=node"];
  await command("openssl", ["req", "-x509", ...keys, "-days", "2", "-keyout", tlsPrivateKeyFile, "-out", tlsCertFile]);
  const options = { configuration: { tlsCertFile, tlsPrivateKeyFile } };
  cluster = await startCluster({
    controlPlane: "full",
    nodes: [
      { agent: "go", options },
      { agent: "deckhand", options },
    ],
  });
  const [first, second] = cluster.nodes;
  assert.ok(first !== undefined && second !== undefined);
  [go, ours] = [first, second];
  await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=60s");
  await cluster.kubectl("create", "configmap", "words", "--from-literal=greeting=hello");
  await haveTheImage();
  await waitUntil("both nodes to have listed what is theirs", 30_000, async () =>
    [await scrape(cluster, go), await scrape(cluster, ours)].every((each) => each.has("kubelet_cgroup_version")),
  );
  await look();
});

after(async () => {
  await cluster.down();
  await rm(folder, { recursive: true, force: true });
});

/** On both nodes before anything is counted: pods that want an image at once share a pull, or do not, as it happens. */
async function haveTheImage(): Promise<void> {
  const names = [go, ours].map(({ name }) => `warm-${name}`);
  const items = [go, ours].map(({ name }) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `warm-${name}` },
    spec: { nodeName: name, terminationGracePeriodSeconds: 0, containers: [container("sleep 1000")] },
  }));
  const file = join(folder, "warm.json");
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await cluster.kubectl("apply", "-f", file);
  await cluster.kubectl("wait", "--for=condition=Ready", "pod", ...names, "--timeout=60s");
  await cluster.kubectl("delete", "pod", ...names, "--timeout=60s");
  await waitUntil("both nodes to have counted the end of that", 30_000, async () =>
    [await scrape(cluster, go), await scrape(cluster, ours)].every(
      (each) => (each.get("kubelet_terminated_containers_total")?.samples.length ?? 0) > 0,
    ),
  );
}

async function look(): Promise<void> {
  goScrapes.push(await scrape(cluster, go));
  ourScrapes.push(await scrape(cluster, ours));
}

const mounts = { volumeMounts: ["words", "image"].map((name) => ({ name, mountPath: `/${name}` })) };
const volumes = [
  { name: "words", configMap: { name: "words" } },
  { name: "memory", emptyDir: {} },
  { name: "image", image: { reference: BUSYBOX_IMAGE, pullPolicy: "IfNotPresent" } },
];
const container = (script: string) => ({ name: "main", image: BUSYBOX_IMAGE, command: ["sh", "-c", script] });

/** Runs; fails once and runs then; and, last, runs to its end, from an image that is pulled. */
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

const familiesOfBoth = (kind: "gauge" | "counted"): readonly string[] => {
  const [theirs, own] = [goScrapes.at(-1), ourScrapes.at(-1)];
  return [...(theirs?.values() ?? [])]
    .filter(({ kind: each }) => (each === "gauge") === (kind === "gauge"))
    .map(({ name }) => name)
    .filter((name) => own?.has(name) === true);
};

void suite("the figures of a node", () => {
  test("a load is carried by both", async () => {
    const file = join(folder, "load.json");
    const apply = async (items: readonly object[]) => {
      await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
      await cluster.kubectl("apply", "-f", file);
    };
    await apply([go, ours].flatMap(({ name }) => load(name).slice(0, 2)));
    for (const node of [go, ours]) {
      const manifests = join(node.folder, "manifests");
      await mkdir(manifests, { recursive: true });
      await writeFile(join(manifests, "static.json"), JSON.stringify(staticPod));
    }
    const phases = [
      "-o",
      "jsonpath={range .items[*]}{.metadata.name}={.status.phase}/{.status.containerStatuses[0].restartCount} {end}",
    ];
    // While an image is being pulled the Go kubelet pulls it for whoever else asks for it, too.
    await waitUntil("all that have their image to run", 90_000, async () => {
      const said = await cluster.kubectl("get", "pods", ...phases);
      return said.match(/=Running/g)?.length === 6;
    });
    await apply([go, ours].map(({ name }) => load(name)[2]));
    await waitUntil("every pod to be where it ends up", 90_000, async () => {
      const said = (await cluster.kubectl("get", "pods", ...phases)).trim().split(" ").toSorted();
      const expected = [go, ours].flatMap(({ name }) => [
        `ends-${name}=Succeeded/0`,
        `fails-${name}=Running/1`,
        `runs-${name}=Running/0`,
        `static-${name}=Running/0`,
      ]);
      return said.join(" ") === expected.toSorted().join(" ");
    });
  });

  test("[21.6][1.10][3.21] gauges of both are equal once both have come to rest", async () => {
    const differing = () =>
      SAME_VALUE.filter((name) => {
        const [theirs, own] = [goScrapes.at(-1)?.get(name), ourScrapes.at(-1)?.get(name)];
        if (theirs === undefined || own === undefined) return true;
        return !isDeepStrictEqual(figuresOf(theirs), figuresOf(own));
      });
    // The Go kubelet counts its pods every two seconds, its volumes when it is asked.
    await waitUntil("the gauges to be equal", 30_000, async () => {
      await look();
      return differing().length === 0;
    }).catch((error: unknown) => {
      const shown = differing().map((name) => ({
        name,
        go: Object.fromEntries(figuresOf(goScrapes.at(-1)?.get(name))),
        ours: Object.fromEntries(figuresOf(ourScrapes.at(-1)?.get(name))),
      }));
      throw new Error(JSON.stringify(shown, undefined, 1), { cause: error });
    });
    const classified = [...SAME_VALUE, ...Object.keys(OWN_VALUE)].toSorted();
    assert.deepEqual(
      familiesOfBoth("gauge").filter((name) => !classified.includes(name)),
      [],
      "every gauge that both have is compared",
    );
    for (const [name, [atLeast, atMost]] of Object.entries(OWN_VALUE)) {
      for (const [key, value] of figuresOf(ourScrapes.at(-1)?.get(name)))
        assert.ok(value >= atLeast && value <= atMost, `${name}{${key}} is ${value}`);
    }
    assert.equal([...figuresOf(ourScrapes.at(-1)?.get("kubelet_node_name")).keys()].join(), `node=${ours.name}`);
  });

  test("[21.6][9.12][9.14] counters of both have grown by the same where the load is what they count", async () => {
    await cluster.kubectl("delete", "pod", `runs-${go.name}`, `runs-${ours.name}`, "--timeout=60s");
    const grownApart = () =>
      SAME_GROWTH.concat(Object.keys(SAME_GROWTH_OF)).flatMap((name) => {
        const only = SAME_GROWTH_OF[name];
        const [theirs, own] = [goScrapes, ourScrapes].map((each) => {
          const [first, last] = [each[0], each.at(-1)];
          assert.ok(first !== undefined && last !== undefined);
          const entries = Object.entries(growth(name, first, last));
          return Object.fromEntries(entries.filter(([key]) => only === undefined || only.includes(key)));
        });
        if (isDeepStrictEqual(theirs, own)) return [];
        return [`${name}: go ${JSON.stringify(theirs)}, ours ${JSON.stringify(own)}`];
      });
    await waitUntil("the counters to have grown alike", 20_000, async () => {
      await look();
      return grownApart().length === 0;
    }).catch((error: unknown) => {
      throw new Error(grownApart().join("\n"), { cause: error });
    });
    const classified = [
      ...SAME_GROWTH,
      ...Object.keys(SAME_GROWTH_OF),
      ...Object.keys(OWN_PACE),
      ...Object.keys(STILL),
    ];
    assert.deepEqual(
      familiesOfBoth("counted").filter((name) => !classified.includes(name)),
      [],
      "every counter that both have is compared",
    );
    for (const name of Object.keys(OWN_PACE)) {
      const [first, last] = [ourScrapes[0], ourScrapes.at(-1)];
      assert.ok(first !== undefined && last !== undefined);
      assert.ok(Object.keys(growth(name, first, last)).length > 0, `${name} has not grown`);
    }
  });

  test("[21.6][19.8] a family of the Go kubelet's is here with its kind and labels, waits for a row, or is left out with a reason", () => {
    const [theirs, own] = [goScrapes.at(-1), ourScrapes.at(-1)];
    assert.ok(theirs !== undefined && own !== undefined);
    const isLeftOut = (name: string) => table.leftOut.some(({ match }) => new RegExp(match).test(name));
    const waits = new Set(table.waiting.map(({ name }) => name));
    const listed = new Map(table.families.map((family) => [family.name, family]));
    const unexplained = [...theirs.keys()].filter((name) => !own.has(name) && !isLeftOut(name) && !waits.has(name));
    assert.deepEqual(unexplained, []);
    assert.deepEqual(
      [...own.keys()].filter((name) => isLeftOut(name) || waits.has(name)),
      [],
      "what is here is not listed as missing",
    );
    const compared = [...own.values()].filter(({ name }) => theirs.has(name));
    for (const family of compared) {
      const other = theirs.get(family.name);
      const mine = [family.kind, ...labelNames(family)].join(" ");
      assert.ok(other !== undefined);
      assert.equal(mine, [other.kind, ...labelNames(other)].join(" "), family.name);
      const expected = listed.get(family.name);
      assert.equal(mine, expected && [expected.kind, ...expected.labels.toSorted()].join(" "), family.name);
    }
    const samples = compared.reduce((sum, { samples: each }) => sum + each.length, 0);
    const gone = [...theirs.keys()].filter((name) => !own.has(name));
    console.log(
      `${compared.length} families with ${samples} samples compared; of the Go kubelet's ${theirs.size} families ` +
        `${gone.filter((name) => waits.has(name)).length} wait and ${gone.filter(isLeftOut).length} are left out`,
    );
    assert.ok(compared.length >= 70, String(compared.length));
  });

  test("[20.13][21.7][10.4] bounds of histograms are the Go kubelet's, written as it writes them", () => {
    const bounds = (scraped: Scrape | undefined, name: string) => [
      ...new Set(scraped?.get(name)?.samples.flatMap(({ labels }) => labels["le"] ?? [])),
    ];
    const histograms = familiesOfBoth("counted").filter((name) => goScrapes.at(-1)?.get(name)?.kind === "histogram");
    assert.ok(histograms.length >= 15, String(histograms.length));
    for (const name of histograms)
      assert.deepEqual(bounds(ourScrapes.at(-1), name), bounds(goScrapes.at(-1), name), name);
  });

  test("[20.13] promtool finds no error, and nothing to complain of that it does not of the Go kubelet", async () => {
    for (const path of ["/metrics", "/metrics/slis", "/metrics/probes"]) {
      const [theirs, own] = [await findings(go, path), await findings(ours, path)];
      const shared = (finding: string) => own.scraped.has(finding.split(" ")[0] ?? "");
      assert.deepEqual(own.errors, []);
      assert.deepEqual(
        own.findings.filter((finding) => !theirs.findings.includes(finding)),
        [],
        path,
      );
      if (path === "/metrics") assert.ok(theirs.findings.some(shared), "there is something to compare");
    }
  });

  test("[20.13] formats and packing are agreed upon as with the Go kubelet; who takes nothing but OpenMetrics gets that", async () => {
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
        const [theirs, own] = [await ask(cluster, go, path, headers), await ask(cluster, ours, path, headers)];
        const shown = ["content-type", "content-encoding"].map((name) => [theirs.headers[name], own.headers[name]]);
        for (const [other, mine] of shown) assert.equal(mine, other, `${path} ${JSON.stringify(headers)}`);
        assert.match(String(own.headers["process-start-time-unix"]), /^\d{10}$/);
      }
    }
    const packed = await ask(cluster, ours, "/metrics", { "Accept-Encoding": "gzip" });
    assert.ok(readExposition(gunzipSync(packed.body).toString()).size > 70);
    const open = await ask(cluster, ours, "/metrics", { Accept: "application/openmetrics-text; version=1.0.0" });
    assert.match(String(open.headers["content-type"]), /^application\/openmetrics-text; version=1\.0\.0/);
    assert.ok(readExposition(open.body.toString(), "openMetrics").size > 70);
  });

  test("[9.14] what askers do through the runtime is counted, and what their statistics take is not", async () => {
    for (const node of [go, ours]) {
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

  test("[20.13] health checks are counted, on an endpoint of their own", async () => {
    // Only the Go kubelet has a server of device plugins to check yet (16.1).
    const isCommon = (key: string) => !key.startsWith("name=device-plugin,");
    for (const node of [go, ours]) {
      assert.equal((await ask(cluster, node, "/healthz")).status, 200);
      let health = await scrape(cluster, node, "/metrics/slis");
      // An answer serves for a second.
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
});

interface Findings {
  readonly scraped: Scrape;
  /** "family what is said of it". */
  readonly findings: readonly string[];
  readonly errors: readonly string[];
}

async function findings(node: ClusterNode, path: string): Promise<Findings> {
  const { body } = await ask(cluster, node, path);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const promtool = execFile("promtool", ["check", "metrics"], (error, stdout, stderr) => {
    // 3: it has something to complain of.
    if (error !== null && error.code !== 3) reject(new Error(`promtool of ${node.name}${path}: ${stderr}${stdout}`));
    else resolve(`${stdout}${stderr}`);
  });
  promtool.stdin?.end(body);
  const lines = (await promise).split("\n").filter((line) => line !== "");
  return {
    scraped: readExposition(body.toString()),
    findings: lines.filter((line) => !line.startsWith("error")),
    errors: lines.filter((line) => line.startsWith("error")),
  };
}
