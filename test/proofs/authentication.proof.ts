/**
 * One hour in which nodes authenticate with a credential plugin whose credentials live for 60 s: with tokens, with
 * certificates, and with tokens through a proxy that is restarted ten times. Each agent is killed twenty times, and
 * every plugin fails for 20 s at a time. The Go kubelet runs beside Deckhand, on nodes of its own. The lease of a
 * Deckhand node must never be late.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { SeededRandom } from "../../sim/seeded-random.ts";
import { pki } from "../cluster/certificates.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { tokenWebhook } from "../cluster/token-webhook.ts";
import { figure } from "../figures.ts";
import { seed, wholeSize } from "../size.ts";
import {
  makePluginDirectory,
  type PluginMode,
  pluginRuns,
  pluginUser,
  setPluginMode,
} from "../support/credential-plugin.ts";

/** Small size: five minutes with two of everything, to try the proof itself. */
const LASTS_MS = (wholeSize() ? 60 : 5) * 60_000;
const LIFETIME_MS = 60_000;
const KILLS = wholeSize() ? 20 : 2;
const PROXY_RESTARTS = wholeSize() ? 10 : 2;
const PLUGIN_FAILURES = wholeSize() ? 10 : 2;
const PLUGIN_FAILS_MS = 20_000;
/** As in the default configuration: the node is unreachable when its lease is older than this. */
const LEASE_MS = 40_000;
const LOOK_EVERY_MS = 500;
const PROXY_PORT = 3128;

const WAYS = ["tokens", "certificates", "proxy"] as const;
const AGENTS = ["deckhand", "go"] as const;
type Way = (typeof WAYS)[number];

interface Case {
  readonly agent: (typeof AGENTS)[number];
  readonly way: Way;
  readonly node: ClusterNode;
}

let cluster: Cluster;
let cases: readonly Case[];
/** The age of each node's lease, when it was largest. */
const largestAgeMs = new Map<string, number>();

const pluginDirectory = ({ node }: Case) => join(node.directory, "plugin");

const goodMode = ({ way, node }: Case): PluginMode =>
  way === "certificates"
    ? { kind: "certificate", node: node.name, lifetimeMs: LIFETIME_MS, authority: pki(cluster.layout, "ca") }
    : { kind: "token", node: node.name, lifetimeMs: LIFETIME_MS };

async function useKubeconfig(one: Case): Promise<void> {
  const { agent, way, node } = one;
  const server = { server: cluster.api.url, "certificate-authority": pki(cluster.layout, "ca.crt") };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "c", cluster: way === "proxy" ? { ...server, "proxy-url": `http://127.0.0.1:${PROXY_PORT}` } : server },
    ],
    users: [{ name: "u", user: pluginUser(pluginDirectory(one)) }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  };
  const path = join(node.directory, "own.kubeconfig");
  await writeFile(path, JSON.stringify(config));
  await cluster.changeAgent(node.name, agent, { flags: [`--kubeconfig=${path}`] });
}

before(async () => {
  const nodes = AGENTS.flatMap((agent) => WAYS.map(() => ({ agent })));
  cluster = await startCluster({ controlPlane: "api", tokenReviews: true, nodes });
  await cluster.start(await tokenWebhook(cluster.layout));
  cases = AGENTS.flatMap((agent, row) =>
    WAYS.map((way, column) => ({
      agent,
      way,
      node: cluster.nodes[row * WAYS.length + column] ?? assert.fail("a node for each case"),
    })),
  );
  for (const one of cases) {
    await makePluginDirectory(pluginDirectory(one));
    await setPluginMode(pluginDirectory(one), goodMode(one));
    if (one.way === "proxy") {
      const script = join(import.meta.dirname, "../support/connect-proxy.ts");
      const command = [process.execPath, script, String(PROXY_PORT), join(one.node.directory, "targets")];
      await cluster.start({ name: proxyOf(one), command, ready: { kind: "listens", port: PROXY_PORT } }, one.node);
    }
    await useKubeconfig(one);
  }
});

after(() => cluster.down());

const proxyOf = ({ node }: Case) => `connect-proxy@${node.name}`;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs `act` that many times, at random moments of the hour. */
async function atRandom(what: string, times: number, act: () => Promise<unknown>): Promise<void> {
  const random = new SeededRandom(`${seed()}/${what}`);
  const moments = Array.from({ length: times }, () => random.fraction() * (LASTS_MS - 2 * LEASE_MS)).toSorted(
    (a, b) => a - b,
  );
  const begunMs = performance.now();
  for (const momentMs of moments) {
    await wait(Math.max(0, momentMs - (performance.now() - begunMs)));
    await act();
  }
}

async function failPlugin(one: Case): Promise<void> {
  await setPluginMode(pluginDirectory(one), { kind: "exits" });
  await wait(PLUGIN_FAILS_MS);
  await setPluginMode(pluginDirectory(one), goodMode(one));
}

async function watchLeases(untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    const { items } = JSON.parse(await cluster.kubectl("get", "leases", "-n", "kube-node-lease", "-o", "json")) as {
      readonly items: readonly {
        readonly metadata: { readonly name: string };
        readonly spec: { readonly renewTime: string };
      }[];
    };
    for (const { metadata, spec } of items) {
      const ageMs = Date.now() - Date.parse(spec.renewTime);
      largestAgeMs.set(metadata.name, Math.max(largestAgeMs.get(metadata.name) ?? 0, ageMs));
    }
    await wait(LOOK_EVERY_MS);
  }
}

describe("[2.8] [2.10] an hour with credentials that live for a minute", () => {
  test("the lease of a Deckhand node is never late", async () => {
    await wait(LEASE_MS);
    await Promise.all([
      watchLeases(performance.now() + LASTS_MS),
      ...cases.flatMap((one) => {
        const { name } = one.node;
        const kill = () => cluster.component(`kubelet@${name}`).restart();
        return [
          atRandom(`kills of ${name}`, KILLS, kill),
          atRandom(`failures of ${name}`, PLUGIN_FAILURES, () => failPlugin(one)),
          ...(one.way === "proxy"
            ? [atRandom(`restarts of ${name}`, PROXY_RESTARTS, () => cluster.component(proxyOf(one)).restart())]
            : []),
        ];
      }),
    ]);
    for (const one of cases) {
      const [what, { name }] = [`${one.agent}, ${one.way}`, one.node];
      figure(`${what}: largest age of the lease`, (largestAgeMs.get(name) ?? Number.NaN) / 1_000, "s");
      figure(`${what}: runs of the plugin`, pluginRuns(pluginDirectory(one)).length, "runs");
    }
    const late = cases.filter(
      ({ agent, node }) => agent === "deckhand" && !((largestAgeMs.get(node.name) ?? LEASE_MS) < LEASE_MS),
    );
    assert.deepEqual(
      late.map(({ way }) => way),
      [],
    );
  });
});
