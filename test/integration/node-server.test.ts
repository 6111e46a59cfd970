/**
 * The node's own API with a real API server behind it: authentication and authorization, through the API server's proxy
 * and directly, and certificates that are replaced meanwhile.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connect } from "node:tls";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { inRepository } from "../../tools/repository.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { waitUntil } from "../cluster/wait.ts";
import { wholeSize } from "../size.ts";
import { type Grant, GUARDED_PATHS, type Guard, isGranted, METHODS } from "../support/access-table.ts";
import { podOn, SLEEPER, STAY, sh } from "../support/cluster-pods.ts";
import { askPlainly, NodeCaller, type Said } from "../support/node-caller.ts";
import { AS_AUTHORITY, FOR_SERVERS, type Identity, TestCertificates } from "../support/test-certificates.ts";

const PORT = 10250;
const READ_ONLY_PORT = 10255;
const SINGLE: readonly Guard[] = [
  "proxy",
  "stats",
  "metrics",
  "log",
  "checkpoint",
  "statusz",
  "configz",
  "pods",
  "healthz",
];
/** The kubectl command lines of the README, in its order. */
const LINES = readFileSync(inRepository("README.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("kubectl "));
const ALL_VERBS = ["get", "create", "update", "patch", "delete"];

describe("the node's own API", () => {
  let made: TestCertificates;
  let directory: string;
  let cluster: Cluster;
  let node: ClusterNode;
  /** `authority` signs client certificates, `operator` signs serving certificates. */
  let authority: Identity;
  let operator: Identity;
  const callers: NodeCaller[] = [];
  const tokensSent: string[] = [];

  const file = (name: string) => join(directory, name);
  const configuration = () => ({
    tlsCertFile: file("serving.crt"),
    tlsPrivateKeyFile: file("serving.key"),
    readOnlyPort: READ_ONLY_PORT,
    kubeAPIQPS: 1000,
    kubeAPIBurst: 2000,
    staticPodPath: "",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: file("client-ca.crt") },
    },
  });

  const serving = (name: string) =>
    made.issue(operator, { subject: `/CN=${name}`, extensions: [FOR_SERVERS, `subjectAltName=DNS:${name}`] });
  async function show({ certificatePem, keyPem }: Identity): Promise<void> {
    await writeFile(file("next.key"), keyPem);
    await writeFile(file("next.crt"), certificatePem);
    await rename(file("next.key"), file("serving.key"));
    await rename(file("next.crt"), file("serving.crt"));
  }
  const caller = (credentials: { readonly identity?: Identity; readonly token?: string } = {}) => {
    const one = new NodeCaller({ host: node.address, port: PORT, ...credentials });
    callers.push(one);
    if (credentials.token !== undefined) tokensSent.push(credentials.token);
    return one;
  };
  const identityOf = async (user: string, groups: readonly string[] = []): Promise<Identity> =>
    made.issue(authority, { subject: `${groups.map((group) => `/O=${group}`).join("")}/CN=${user}` });
  const shownName = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: node.address, port: PORT, rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on("error", reject);
    });
  async function give(grants: ReadonlyMap<string, Grant>): Promise<void> {
    const apiVersion = "rbac.authorization.k8s.io/v1";
    const items = [...grants].flatMap(([name, { verbs, guards }]) => [
      {
        apiVersion,
        kind: "ClusterRole",
        metadata: { name },
        rules:
          guards.length === 0 ? [] : [{ apiGroups: [""], verbs, resources: guards.map((guard) => `nodes/${guard}`) }],
      },
      {
        apiVersion,
        kind: "ClusterRoleBinding",
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
      },
    ]);
    await writeFile(file("grants.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    await cluster.kubectl("create", "-f", file("grants.json"));
  }

  before(async () => {
    made = await TestCertificates.in();
    directory = await mkdtemp(join(tmpdir(), "deckhand-node-server-"));
    operator = await made.selfSigned({ subject: "/CN=operator" });
    await show(await serving("first"));
    // No client's certificate is signed by the operator.
    await writeFile(file("client-ca.crt"), operator.certificatePem);
    const options = { configuration: configuration() };
    cluster = await startCluster({ controlPlane: "api", nodes: [{ agent: "deckhand", options }] });
    [node] = cluster.nodes as [ClusterNode];
    const ca = (name: string) => readFile(join(cluster.layout.certificates, `ca.${name}`), "utf8");
    authority = { certificatePem: await ca("crt"), keyPem: await ca("key") };
    await copyFile(cluster.api.caFile, file("client-ca.crt"));
    const anybody = caller();
    await waitUntil("the node's API to answer", 20_000, () => isListening(anybody));
  });

  after(async () => {
    for (const one of callers) one[Symbol.dispose]();
    await cluster.down();
    await rm(directory, { recursive: true, force: true });
    await made[Symbol.asyncDispose]();
  });

  test("[20.1] the API server authenticates by its certificate, a service account by its token, and all others get 401", async () => {
    const throughProxy = (path: string) => cluster.kubectl("get", "--raw", `/api/v1/nodes/${node.name}/proxy${path}`);
    await waitUntil("the node to be known", 20_000, () =>
      throughProxy("/healthz").then(
        (body) => body === "ok",
        () => false,
      ),
    );
    const { kubeletconfig } = JSON.parse(await throughProxy("/configz")) as { kubeletconfig: { kind: string } };
    assert.equal(kubeletconfig.kind, "KubeletConfiguration");

    await cluster.kubectl("create", "serviceaccount", "monitor");
    const user = "system:serviceaccount:default:monitor";
    await cluster.kubectl(
      "create",
      "clusterrolebinding",
      "m",
      "--clusterrole=system:kubelet-api-admin",
      `--user=${user}`,
    );
    const token = (await cluster.kubectl("create", "token", "monitor")).trim();
    assert.deepEqual(answerOf(await caller({ token }).ask("/healthz")), [200, "ok"]);
    assert.deepEqual(answerOf(await caller({ token: `${token}x` }).ask("/healthz")), [401, "Unauthorized"]);
    assert.deepEqual(answerOf(await caller().ask("/healthz")), [401, "Unauthorized"]);
  });

  test("[20.2] [20.3] every path, for every identity and method, is open to the users to whom RBAC grants it and to no others", async (t) => {
    const grants = new Map<string, Grant>([
      ["none-given", { verbs: [], guards: [] }],
      ["reads-proxy", { verbs: ["get"], guards: ["proxy"] }],
      ["creates-proxy", { verbs: ["create"], guards: ["proxy"] }],
      ["everything", { verbs: ["*"], guards: SINGLE }],
      ...SINGLE.map((guard) => [`only-${guard}`, { verbs: ALL_VERBS, guards: [guard] }] as const),
    ]);
    await give(grants);
    const other = await made.selfSigned({ subject: "/CN=other" });
    const subject = "/O=system:masters/CN=admin";
    const refused: readonly NodeCaller[] = [
      caller(),
      caller({ token: "no.such.token" }),
      caller({ identity: await made.issue(other, { subject }) }),
      caller({ identity: await made.issue(authority, { subject, days: -1 }) }),
      caller({ identity: await made.issue(authority, { subject, extensions: [FOR_SERVERS] }) }),
      caller({ identity: await made.issue(authority, { subject, digest: "sha1" }) }),
      caller({ identity: await made.selfSigned({ subject, extensions: [AS_AUTHORITY] }) }),
    ];
    let asserted = 0;
    const wrong: string[] = [];
    const check = (isRight: boolean, what: string) => {
      asserted += 1;
      if (!isRight) wrong.push(what);
    };
    for (const [index, one] of refused.entries()) {
      await eachRequest(async (path, method) => {
        const { status, body } = await one.ask(path.path, method);
        const isRight = status === 401 && (method === "HEAD" || body === "Unauthorized");
        check(isRight, `bad credential ${index}: ${method} ${path.path}: ${status}`);
      });
    }
    for (const [user, given] of grants) {
      const one = caller({ identity: await identityOf(user) });
      await eachRequest(async (path, method) => {
        const { status, body } = await one.ask(path.path, method);
        const isOpen = isGranted(given, path, method);
        const opened = status !== 401 && status !== 403 && status < 500;
        const said = method === "HEAD" || body.startsWith(`Forbidden (user=${user}, verb=`);
        check(
          isOpen ? opened : status === 403 && said,
          `${user}: ${method} ${path.path}: ${status} ${body.slice(0, 99)}`,
        );
      });
    }
    // As in the Go kubelet, the CA's own certificate authenticates as the user that it names, who has no permissions.
    const { status } = await caller({ identity: authority }).ask("/pods");
    check(status === 403, `an authority as itself: ${status}`);
    t.diagnostic(`${asserted} requests`);
    assert.deepEqual(wrong, []);
    assert.ok(asserted >= 2000);
  });

  test("[20.2] a 403 response has the Go kubelet's message", async () => {
    const one = caller({ identity: await identityOf("only-stats") });
    assert.deepEqual(answerOf(await one.ask("/pods")), [
      403,
      "Forbidden (user=only-stats, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
    ]);
    const reader = caller({ identity: await identityOf("reads-proxy") });
    assert.deepEqual(answerOf(await reader.ask("/exec/default/none/c?command=id")), [
      403,
      "Forbidden (user=reads-proxy, verb=create, resource=nodes, subresource(s)=[proxy])\n",
    ]);
  });

  test("[2.4] a new serving certificate is served within 10 s, and open connections stay", async () => {
    const admin = caller({ identity: await identityOf("everything") });
    await admin.ask("/healthz");
    assert.equal(await shownName(), "first");
    await writeFile(file("serving.key"), "no key");
    await show(await serving("second"));
    await waitUntil("the new certificate", 10_000, async () => (await shownName()) === "second");
    await writeFile(file("serving.crt"), "no certificate");
    assert.deepEqual(answerOf(await admin.ask("/healthz")), [200, "ok"]);
    assert.equal(await shownName(), "second");
    await show(await serving("third"));
    await waitUntil("the third certificate", 10_000, async () => (await shownName()) === "third");
  });

  test("[2.6] a new client CA is trusted within 10 s, and a removed one no longer", async () => {
    const next = await made.selfSigned({ subject: "/CN=next-authority" });
    const old = caller({ identity: await identityOf("everything") });
    const young = caller({ identity: await made.issue(next, { subject: "/CN=everything" }) });
    const status = async (one: NodeCaller) => (await one.ask("/healthz")).status;
    assert.deepEqual([await status(old), await status(young)], [200, 401]);
    await writeFile(file("client-ca.crt"), authority.certificatePem + next.certificatePem);
    await waitUntil("both to be believed", 10_000, async () => (await status(young)) === 200);
    assert.equal(await status(old), 200);
    await writeFile(file("client-ca.crt"), next.certificatePem);
    await waitUntil("the old one to be forgotten", 10_000, async () => (await status(old)) === 401);
    assert.equal(await status(young), 200);
    await writeFile(file("client-ca.crt"), authority.certificatePem);
    await waitUntil("the first to be believed again", 10_000, async () => (await status(old)) === 200);
  });

  test("[20.18] the read-only port serves what monitors read and nothing else", async () => {
    const at = (path: string) => askPlainly(`http://${node.address}:${READ_ONLY_PORT}${path}`);
    assert.deepEqual(answerOf(await at("/healthz")), [200, "ok"]);
    const pods = JSON.parse((await at("/pods")).body) as { readonly kind: string };
    assert.equal(pods.kind, "PodList");
    assert.equal((await at("/configz")).status, 404);
    for (const path of ["/runningpods/", "/exec/default/a/b", "/containerLogs/default/a/b", "/debug/pprof/"]) {
      assert.equal((await at(path)).status, 405, path);
    }
  });

  test("[20.4] [20.5] [20.15] the node's pages about its pods and itself agree with the API server and the runtime", async () => {
    await cluster.kubectl("create", "serviceaccount", "default").catch(() => ""); // No controller creates it here.
    const pod = podOn(node.name, "queried", { containers: [SLEEPER] });
    await writeFile(file("pod.json"), JSON.stringify({ apiVersion: "v1", kind: "Pod", ...pod }));
    await cluster.kubectl("create", "-f", file("pod.json"));
    const admin = caller({ identity: await identityOf("everything") });
    const listed = async (path: string) =>
      (JSON.parse((await admin.ask(path)).body) as { readonly items: readonly Pod[] | null }).items ?? [];
    const phase = async () =>
      (await listed("/pods")).find(({ metadata }) => metadata?.name === "queried")?.status?.phase;
    await waitUntil("the node to say that the pod runs", 60_000, async () => (await phase()) === "Running");
    const ofApi = async () => JSON.parse(await cluster.kubectl("get", "pod", "queried", "-o", "json")) as Pod;
    await waitUntil("the API server to say so too", 20_000, async () => (await ofApi()).status?.phase === "Running");
    const [known] = await listed("/pods");
    const published = await ofApi();
    assert.deepEqual(known?.status?.containerStatuses, published.status?.containerStatuses);
    assert.deepEqual(known?.spec?.containers, published.spec?.containers);
    const running = (await listed("/runningpods/")).find(({ metadata }) => metadata?.name === "queried");
    assert.equal(running?.metadata?.uid, published.metadata?.uid);
    assert.deepEqual(
      running?.spec?.containers.map(({ name }) => name),
      ["main"],
    );
    assert.match((await admin.ask("/flagz")).body, /\nhostname-override=n1\n/);
    assert.match((await admin.ask("/statusz")).body, /\nBinary version: 1\.36\.4\n/);
  });

  test("the README's kubectl commands for the node's API work", async () => {
    const says = sh(`echo here; ${STAY}`);
    const pod = podOn(node.name, "web", { containers: [says] });
    await writeFile(file("web.json"), JSON.stringify({ apiVersion: "v1", kind: "Pod", ...pod }));
    await cluster.kubectl("create", "-f", file("web.json"));
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s");
    const answers: readonly RegExp[] = [
      /^\S+Z here\n$/,
      /^uid=0/,
      /"nodeName": *"n1"/,
      /^kubelet_node_name\{node="n1"\} 1$/m,
      /^container_memory_working_set_bytes\{.*pod="web"/m,
      /"kind": *"KubeletConfiguration"/,
    ];
    assert.equal(LINES.length, answers.length);
    for (const [index, line] of LINES.entries()) {
      assert.match(await cluster.kubectl(...line.split(" ").slice(1)), answers[index] ?? /^$/, line);
    }
  });

  test("[20.16] /debug/flags/v changes the log's verbosity, and /debug/pprof/profile returns a profile of the process", async () => {
    const admin = caller({ identity: await identityOf("everything") });
    const log = () => readFile(cluster.component(`kubelet@${node.name}`).logFile, "utf8");
    const lines = async () =>
      (await log()).split("\n").filter((line) => /access\].*path="healthz" status=200/.test(line));
    assert.deepEqual(await lines(), []);
    const { status, body } = await admin.ask("/debug/flags/v", "PUT", {}, "2");
    assert.deepEqual([status, body], [200, "successfully set klog.logging.verbosity to 2\n"]);
    await admin.ask("/healthz");
    await waitUntil("a line of the access log", 10_000, async () => (await lines()).length > 0);
    await admin.ask("/debug/flags/v", "PUT", {}, "0");
    const profile = JSON.parse((await admin.ask("/debug/pprof/profile?seconds=1")).body) as {
      readonly nodes: unknown[];
    };
    assert.ok(profile.nodes.length > 0);
  });

  test("the node's log contains no token that a client sent", async () => {
    assert.ok(tokensSent.length > 0);
    const text = await readFile(cluster.component(`kubelet@${node.name}`).logFile, "utf8");
    for (const token of tokensSent) assert.ok(!text.includes(token));
  });

  test("[20.1] [20.17] with anonymous authentication clients are system:anonymous, and authorized ones get 405 from disabled pages", async () => {
    const { authentication, ...rest } = configuration();
    await cluster.changeAgent(node.name, "deckhand", {
      configuration: {
        ...rest,
        authentication: { ...authentication, anonymous: { enabled: true } },
        enableDebuggingHandlers: false,
      },
    });
    const anybody = caller();
    await waitUntil("the node's API to answer", 20_000, () => isListening(anybody));
    const wrong: string[] = [];
    await eachRequest(async ({ path }, method) => {
      const { status, body } = await anybody.ask(path, method);
      const isRight =
        status === 403 && (method === "HEAD" || body.startsWith("Forbidden (user=system:anonymous, verb="));
      if (!isRight) wrong.push(`${method} ${path}: ${status} ${body}`);
    });
    assert.deepEqual(wrong, []);
    assert.equal((await caller({ token: "no.such.token" }).ask("/pods")).status, 401);
    const other = await made.selfSigned({ subject: "/CN=other" });
    assert.equal((await caller({ identity: other }).ask("/pods")).status, 401);
    const admin = caller({ identity: await identityOf("everything") });
    assert.deepEqual(answerOf(await admin.ask("/exec/a/b/c")), [405, "Debug endpoints are disabled.\n"]);
    assert.deepEqual(answerOf(await admin.ask("/healthz")), [200, "ok"]);
  });

  test("[1.26] with enableServer: false nothing listens, and the node keeps working", async () => {
    await cluster.changeAgent(node.name, "deckhand", { configuration: { ...configuration(), enableServer: false } });
    await assert.rejects(caller().ask("/healthz"), { code: "ECONNREFUSED" });
    await assert.rejects(askPlainly(`http://${node.address}:${READ_ONLY_PORT}/healthz`), { code: "ECONNREFUSED" });
    await cluster.kubectl("delete", "pod", "queried", "--wait", "--timeout=60s"); // The node terminates it.
  });

  const answerOf = ({ status, body }: Said) => [status, body];
});

const isListening = (anybody: NodeCaller) =>
  anybody.ask("/healthz").then(
    ({ status }) => status === 401 || status === 403,
    () => false,
  );

type Path = (typeof GUARDED_PATHS)[number];
type Method = (typeof METHODS)[number];

/** In a small run: every path with the methods that matter most, and one path of each kind with the others. */
const REQUESTS: readonly (readonly [Path, Method])[] = GUARDED_PATHS.flatMap((path, index) => {
  const isFirst = GUARDED_PATHS.findIndex(({ guards, executes }) => isSame(path, { guards, executes })) === index;
  const methods = METHODS.filter((method) => wholeSize() || isFirst || method === "GET" || method === "POST");
  return methods.map((method) => [path, method] as const);
});

function isSame(a: Omit<Path, "path">, b: Omit<Path, "path">): boolean {
  return a.executes === b.executes && a.guards.join() === b.guards.join();
}

async function eachRequest(act: (path: Path, method: Method) => Promise<void>): Promise<void> {
  const next = REQUESTS[Symbol.iterator]();
  const lane = async () => {
    for (const [path, method] of next) await act(path, method);
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
}
