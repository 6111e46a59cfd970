/**
 * Failures that an agent reports only after minutes, each on a separate node, all at the same time.
 *
 * - The journal's disk hangs and the sync loop waits for a write that does not return. After five minutes /healthz
 *   fails, and the agent no longer notifies the service manager's watchdog. Containers keep running. The agent
 *   continues when the disk works again.
 * - The runtime answers no list: after three minutes the Node is NotReady with PLEG's message.
 * - The API server accepts neither a certificate nor the bootstrap token: after five minutes the agent exits, so that
 *   its service manager restarts it with credentials that an operator has put in place.
 *
 * The server also closes a connection that is idle for a minute and a half.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connect } from "node:tls";
import { scratch } from "../../tools/scratch.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { builtProgram } from "../support/built-program.ts";
import { ClusterPods, podOn, SLEEPER } from "../support/cluster-pods.ts";
import { listenForNotices } from "../support/notify-listener.ts";
import { OutsideOracle } from "../support/outside-oracle.ts";

const MINUTE_MS = 60_000;
const JOURNAL = "/var/lib/kubelet/deckhand";
const WATCHDOG_MS = 4_000;
const ASK_HEALTH =
  'fetch("http://127.0.0.1:10248/healthz?verbose").then(async (it) => process.stdout.write(`${it.status} ${await it.text()}`))';

let cluster: Cluster;
let pods: ClusterPods;

before(async () => {
  cluster = await startCluster({
    controlPlane: "full",
    nodes: [{ agent: "deckhand" }, { agent: "deckhand", criProxy: true }, { agent: "deckhand" }],
  });
  pods = await ClusterPods.of(cluster);
});

after(async () => {
  await pods.close();
  await cluster.down();
});

const nodeAt = (index: number): ClusterNode => cluster.nodes[index] ?? assert.fail(`no node ${index}`);
const agentOf = ({ name }: ClusterNode) => cluster.component(`kubelet@${name}`);
const logOf = (node: ClusterNode) => readFile(agentOf(node).logFile, "utf8");

async function runOn(node: ClusterNode, ...command: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await node.run(...command);
  assert.equal(code, 0, `${command.join(" ")}: ${stderr}`);
  return stdout;
}

void describe("failures that last", { concurrency: true }, () => {
  test("[1.18] [1.19] sync loop blocked by the journal's disk stops watchdog notifications and fails /healthz; containers keep running", async (t) => {
    const temporary = scratch();
    const node = nodeAt(0);
    const listener = await listenForNotices(temporary.root);
    const oracle = await OutsideOracle.start(cluster, node.name);
    await agentOf(node).end();
    const image = join(node.directory, "journal.img");
    await runOn(node, "truncate", "--size=64M", image);
    await runOn(node, "mkfs.ext4", "-q", image);
    await runOn(node, "mount", "-o", "loop", image, JOURNAL);
    t.after(async () => {
      await node.run("fsfreeze", "--unfreeze", JOURNAL);
      await agentOf(node).end();
      await runOn(node, "umount", JOURNAL);
      oracle.stop();
      await listener.end();
      temporary[Symbol.dispose]();
    });
    const { executable } = await builtProgram();
    const manager = [`NOTIFY_SOCKET=${listener.socket}`, `WATCHDOG_USEC=${WATCHDOG_MS * 1_000}`];
    await cluster.changeAgent(node.name, "deckhand", { program: ["env", ...manager, executable, "kubelet"] });
    await pods.create(podOn(node.name, "before", { containers: [SLEEPER] }));
    const { metadata, status } = await pods.running("before");
    const health = () => runOn(node, process.execPath, "-e", ASK_HEALTH);
    const signs = () => listener.heard.filter(({ text }) => text === "WATCHDOG=1");
    const lastSignMs = () => signs().at(-1)?.atMs ?? assert.fail("the watchdog received no notification");
    await waitUntil("a sign of life", 20_000, () => Promise.resolve(signs().length > 0));

    await runOn(node, "fsfreeze", "--freeze", JOURNAL);
    const frozeMs = performance.now();
    await pods.create(podOn(node.name, "during", { containers: [SLEEPER] }));
    const isSilent = () => Promise.resolve(performance.now() - lastSignMs() > 2 * WATCHDOG_MS);
    await waitUntil("silence", 6 * MINUTE_MS, isSilent);
    const lastMs = lastSignMs() - frozeMs;
    figure("from the hang of the disk to the last sign for the watchdog", Math.round(lastMs / 1000), "s");
    assert.ok(lastMs > 5 * MINUTE_MS - WATCHDOG_MS, `${Math.round(lastMs)} ms`);
    assert.match(await health(), /^500 [^]*\[-\]syncloop failed/);
    assert.match(await logOf(node), /Do not notify watchdog .*checker syncloop failed: sync Loop took longer/);
    assert.ok(oracle.living.has(metadata?.uid ?? ""), "the container runs");

    const heard = signs().length;
    await runOn(node, "fsfreeze", "--unfreeze", JOURNAL);
    await pods.running("during", MINUTE_MS);
    await waitUntil("signs of life", 30_000, () => Promise.resolve(signs().length > heard + 1));
    assert.match(await health(), /^200 /);
    const idOf = (one: typeof status) => one?.containerStatuses?.[0]?.containerID;
    assert.equal(idOf(pods.latest("before")?.status), idOf(status));
  });

  test("[10.1] [3.12] runtime that answers no list makes the Node NotReady after three minutes, until it answers", async () => {
    const node = nodeAt(1);
    const ready = async (field: string) =>
      cluster.kubectl("get", "node", node.name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].${field}}`);
    await waitUntil("the node to be ready", MINUTE_MS, async () => (await ready("status")) === "True", 500);
    const released = Promise.withResolvers<void>();
    const proxy = node.criProxy ?? assert.fail("the node has a proxy");
    const unhook = ["ListPodSandbox", "ListContainers", "ListPodSandboxes"].map((method) =>
      proxy.hook(method, { before: () => released.promise }),
    );
    const hungMs = performance.now();
    try {
      await waitUntil("the node to be not ready", 6 * MINUTE_MS, async () => (await ready("status")) === "False", 500);
      const tookMs = performance.now() - hungMs;
      figure("from the first list that hangs to the Node that is not ready", Math.round(tookMs / 1000), "s");
      assert.ok(tookMs > 2 * MINUTE_MS, `${Math.round(tookMs)} ms`);
      const message = await ready("message");
      assert.match(message, /PLEG is not healthy: pleg was last seen active 3m\S+ ago; threshold is 3m0s/);
      assert.equal(await ready("reason"), "KubeletNotReady");
    } finally {
      for (const each of unhook) each();
      released.resolve();
    }
    await waitUntil("the node to be ready", 2 * MINUTE_MS, async () => (await ready("status")) === "True", 500);
  });

  test("[20.19] server on port 10250 closes a connection that is idle for 90 s", async () => {
    const node = nodeAt(1);
    const [cert, key] = await Promise.all(
      [cluster.api.adminCertFile, cluster.api.adminKeyFile].map((file) => readFile(file)),
    );
    const socket = connect({ host: node.address, port: 10250, cert, key, rejectUnauthorized: false });
    await once(socket, "secureConnect");
    socket.write("GET /healthz HTTP/1.1\r\nHost: node\r\n\r\n");
    await once(socket, "data");
    const answeredMs = performance.now();
    socket.resume();
    await once(socket, "close");
    const idleMs = performance.now() - answeredMs;
    figure("an idle connection to port 10250 lives", Math.round(idleMs / 1000), "s");
    assert.ok(idleMs > 85_000 && idleMs < 120_000, `${Math.round(idleMs)} ms`);
  });

  test("[2.2] agent without a valid certificate exits after five minutes when the API server answers", async () => {
    const node = nodeAt(2);
    const bootstrap = join(node.directory, "bootstrap-kubelet.conf");
    const authority = (await readFile(cluster.api.caFile)).toString("base64");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "bootstrap",
      clusters: [{ name: "bootstrap", cluster: { server: cluster.api.url, "certificate-authority-data": authority } }],
      contexts: [{ name: "bootstrap", context: { cluster: "bootstrap", user: "bootstrap" } }],
      users: [{ name: "bootstrap", user: { token: "abcdef.0123456789abcdef" } }],
    };
    await writeFile(bootstrap, JSON.stringify(config), { mode: 0o600 });
    const flags = ["--kubeconfig=/var/lib/kubelet/kubelet.conf", `--bootstrap-kubeconfig=${bootstrap}`];
    await cluster.changeAgent(node.name, "deckhand", { configuration: { rotateCertificates: true }, flags });
    const startedMs = performance.now();
    await waitUntil("the agent to exit", 7 * MINUTE_MS, async () => !(await agentOf(node).isAlive()), 500);
    const livedMs = performance.now() - startedMs;
    figure("from a start without a valid certificate to the exit", Math.round(livedMs / 1000), "s");
    assert.ok(livedMs > 5 * MINUTE_MS - 5_000, `${Math.round(livedMs)} ms`);
    assert.match(await logOf(node), /No valid client certificate is found and the server is responsive, exiting\./);
  });
});
