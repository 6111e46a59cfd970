/**
 * Every way in which a kubeconfig lets a node authenticate and reach the API server, with the composed agent and a real
 * API server: a credential plugin with tokens and with certificates, plugins that fail, a proxy, and a server whose
 * certificate nobody verifies. The tokens are checked by a webhook of the harness.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pki } from "../cluster/certificates.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { nodeToken, tokenWebhook } from "../cluster/token-webhook.ts";
import { pause, waitUntil } from "../cluster/wait.ts";
import { builtBundle } from "../support/built-program.ts";
import {
  makePluginDirectory,
  type PluginMode,
  pluginRuns,
  pluginUser,
  setPluginMode,
} from "../support/credential-plugin.ts";

const TOKEN_MS = 6_000;
const SHORT_TOKEN_MS = 4_000;
/** A fifth of its lifetime, in which the agent fetches the next one, is longer than a lease. */
const LONG_TOKEN_MS = 40_000;
/** The shorter the lease, the more often the node renews it: four times in its duration. */
const LEASE_MS = 4_000;
const PROXY_PORT = 3128;

let cluster: Cluster;
let node: ClusterNode;
let directory: string;

before(async () => {
  cluster = await startCluster({ controlPlane: "api", tokenReviews: true, nodes: [{ agent: "deckhand" }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  directory = join(node.directory, "plugin");
  await makePluginDirectory(directory);
  await cluster.start(await tokenWebhook(cluster.layout));
});

after(() => cluster.down());

const setMode = (mode: PluginMode) => setPluginMode(directory, mode);
const goodMode = (): PluginMode => ({ kind: "token", node: node.name, lifetimeMs: TOKEN_MS });
const trusted = () => ({ "certificate-authority": pki(cluster.layout, "ca.crt") });
const log = () => readFile(cluster.component(`kubelet@${node.name}`).logFile, "utf8");
const kubeconfig = () => join(node.directory, "own.kubeconfig");
const runs = () => pluginRuns(directory).length;

async function renewedLease(): Promise<number> {
  const path = "jsonpath={.spec.renewTime}";
  return Date.parse(await cluster.kubectl("get", "lease", "-n", "kube-node-lease", node.name, "-o", path));
}

/** Waits until the node renews its lease this many times. */
async function waitForRenewals(what: string, renewals: number): Promise<void> {
  for (let renewal = 0; renewal < renewals; renewal += 1) {
    const earlier = await renewedLease();
    await waitUntil(`a renewed lease ${what}`, 20_000, async () => (await renewedLease()) > earlier, 200);
  }
}

/** The agent uses a kubeconfig with this cluster and user from now on. */
async function useKubeconfig(clusterFields: object, user: object): Promise<void> {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: cluster.api.url, ...clusterFields } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  };
  await writeFile(kubeconfig(), JSON.stringify(config));
  await cluster.changeAgent(node.name, "deckhand", {
    configuration: { nodeLeaseDurationSeconds: LEASE_MS / 1_000 },
    flags: [`--kubeconfig=${kubeconfig()}`],
  });
}

/** The credentials with which the API server saw this node renew its lease since then, from its audit log. */
async function leaseCredentials(sinceMs: number): Promise<ReadonlySet<string>> {
  const lines = (await readFile(cluster.api.auditLog, "utf8"))
    .split("\n")
    .filter((line) => line.includes(`/leases/${node.name}`));
  const events = lines.map((line) => JSON.parse(line) as AuditEvent);
  const ids = events.filter(({ requestReceivedTimestamp: at }) => Date.parse(at) > sinceMs);
  return new Set(ids.flatMap(({ user }) => user.extra?.["authentication.kubernetes.io/credential-id"] ?? []));
}

interface AuditEvent {
  readonly requestReceivedTimestamp: string;
  readonly user: { readonly extra?: Readonly<Record<string, readonly string[]>> };
}

async function doctor(): Promise<string> {
  const flags = [`--config=${join(node.directory, "kubelet.json")}`, `--kubeconfig=${kubeconfig()}`];
  const { stdout } = await node.run(process.execPath, await builtBundle(), "doctor", ...flags);
  return stdout;
}

const ownCertificate = () => cluster.api.clientCertificate(`system:node:${node.name}`, ["system:nodes"]);

describe("a kubeconfig", () => {
  test("[2.8] with a credential plugin: the node authenticates with its tokens and fetches new ones before they expire", async () => {
    await setMode(goodMode());
    await useKubeconfig(trusted(), pluginUser(directory));
    const begunAtMs = Date.now();
    await waitForRenewals("with tokens of 6 s", 10);
    const tokens = Math.ceil((Date.now() - begunAtMs) / (TOKEN_MS * 0.8)) + 3;
    assert.ok(runs() >= 2 && runs() <= tokens, `${runs()} runs, at most ${tokens} are needed by all clients together`);
    const { spec } = JSON.parse(pluginRuns(directory)[0] ?? "") as {
      readonly spec: { readonly interactive: boolean; readonly cluster: { readonly server: string } };
    };
    assert.deepEqual([spec.interactive, spec.cluster.server], [false, cluster.api.url]);
  });

  test("[2.8] with a plugin that hangs: no lease is late while the last token is valid", async () => {
    await setMode({ kind: "token", node: node.name, lifetimeMs: LONG_TOKEN_MS });
    await useKubeconfig(trusted(), pluginUser(directory));
    await waitForRenewals("before the failure", 1);
    const [validUntilMs, good] = [Date.now() + LONG_TOKEN_MS * 0.95, runs()];
    await setMode({ kind: "hangs" });
    await waitUntil("the plugin to hang", LONG_TOKEN_MS, () => Promise.resolve(runs() > good), 100);
    const hungForMs = validUntilMs - Date.now();
    assert.ok(hungForMs > LEASE_MS, `it hangs for ${hungForMs} ms before the token expires`);
    while (Date.now() < validUntilMs) {
      const ageMs = Date.now() - (await renewedLease());
      assert.ok(ageMs < LEASE_MS, `the lease is ${ageMs} ms old`);
      await pause(200);
    }
  });

  for (const [name, mode, message] of [
    ["prints garbage", { kind: "garbage" }, /decoding stdout: it is no ExecCredential/],
    ["prints 100 MB", { kind: "floods" }, /was killed: it printed more than 1048576 bytes/],
    ["exits with 1", { kind: "exits" }, /failed with exit code 1: no role is attached to this machine/],
    ["returns an expired token", { kind: "expired", node: "n1" }, /returned credentials that expired at /],
  ] as const) {
    test(`[2.8] with a plugin that ${name}: log and doctor name the error, and the node recovers with the plugin`, async () => {
      await setMode({ kind: "token", node: node.name, lifetimeMs: SHORT_TOKEN_MS });
      await useKubeconfig(trusted(), pluginUser(directory));
      await waitForRenewals("before the failure", 1);
      await setMode(mode);
      await waitUntil("the error in the log", 30_000, async () => message.test(await log()), 200);
      assert.match(await doctor(), message);
      await setMode(goodMode());
      await waitForRenewals("with a plugin that works again", 1);
    });
  }

  test("[2.8] with a plugin that returns certificates: requests come with the newest one", async () => {
    await setMode({ kind: "certificate", node: node.name, lifetimeMs: 3_000, authority: pki(cluster.layout, "ca") });
    await useKubeconfig(trusted(), pluginUser(directory));
    await waitForRenewals("with certificates of 3 s", 1);
    const begunAtMs = Date.now();
    await waitForRenewals("with further certificates", 6);
    const used = await leaseCredentials(begunAtMs);
    assert.ok(used.size >= 2, `the lease was renewed with ${used.size} certificates`);
  });

  test("[2.10] with a proxy-url: only the API server is reached through the proxy, also after the proxy restarted", async () => {
    const targets = join(node.directory, "targets");
    const script = join(import.meta.dirname, "../support/connect-proxy.ts");
    const command = [process.execPath, script, String(PROXY_PORT), targets];
    const ready = { kind: "listens", port: PROXY_PORT } as const;
    const proxy = await cluster.start({ name: "connect-proxy", command, ready }, node);
    await setMode(goodMode());
    await useKubeconfig({ ...trusted(), "proxy-url": `http://127.0.0.1:${PROXY_PORT}` }, pluginUser(directory));
    await waitForRenewals("through the proxy", 2);
    const before = (await readFile(targets, "utf8")).split("\n").length;
    await proxy.restart();
    await waitForRenewals("through the restarted proxy", 2);
    const seen = (await readFile(targets, "utf8")).trimEnd().split("\n");
    assert.ok(seen.length >= before);
    assert.deepEqual([...new Set(seen)], [new URL(cluster.api.url).host]);
  });

  test("[2.9] with a token file: the node uses the token that the file has now", async () => {
    const tokenFile = join(directory, "token");
    const write = () => writeFile(tokenFile, nodeToken(node.name, Date.now() + TOKEN_MS));
    await write();
    await useKubeconfig(trusted(), { tokenFile });
    for (let round = 0; round < 3; round += 1) {
      await waitForRenewals("with a token of 6 s", 4);
      await write();
    }
  });

  test("[2.11] with a tls-server-name: the server's certificate must have this name", async () => {
    const { certFile, keyFile } = await ownCertificate();
    const user = { "client-certificate": certFile, "client-key": keyFile };
    await useKubeconfig({ ...trusted(), "tls-server-name": "other.example" }, user);
    await waitUntil("the refusal", 20_000, async () => /other\.example/.test(await log()), 200);
    await useKubeconfig({ ...trusted(), "tls-server-name": "kubernetes.default.svc" }, user);
    await waitForRenewals("with the name in the certificate", 2);
  });

  test("[2.12] with insecure-skip-tls-verify: the node works, and the log warns at every start", async () => {
    const { certFile, keyFile } = await ownCertificate();
    const user = { "client-certificate": certFile, "client-key": keyFile };
    await useKubeconfig({ "insecure-skip-tls-verify": true }, user);
    await waitForRenewals("without verification", 2);
    const warnings = async () => (await log()).split("insecure-skip-tls-verify: anyone on the network path").length - 1;
    const first = await warnings();
    await cluster.component(`kubelet@${node.name}`).restart();
    await waitForRenewals("after a restart", 1);
    assert.deepEqual([first, await warnings()], [1, 2]);
  });
});
