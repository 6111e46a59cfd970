/**
 * `deckhand explain` on a Deckhand node and `kubectl why` beside it, typed as an operator would: pods that fail in many
 * ways at once, each with its cause in the first sentence, while the agent runs and after it was stopped.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { status as grpcStatus } from "@grpc/grpc-js";
import type { Container, Node, PodSpec, Probe } from "../../src/api/gen/core-v1.ts";
import { configMaps, nodes } from "../../src/api/resources.ts";
import { parseQuantity, quantityMilliValue } from "../../src/base/quantity.ts";
import { inRepository } from "../../tools/repository.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { tryCommand } from "../cluster/command.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { builtBundle } from "../support/built-program.ts";
import { ClusterPods, podOn, SLEEPER, sh } from "../support/cluster-pods.ts";

/** The command lines in the documents. */
const LINES = ["README.md", "docs/explain.md"].flatMap((page) =>
  readFileSync(inRepository(page), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("deckhand explain ")),
);
const WHY_LINES = readFileSync(inRepository("docs/explain.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("kubectl why "));
const LIMIT_MS = 150_000;
const forever = new AbortController().signal;

let cluster: Cluster;
let node: ClusterNode;
let pods: ClusterPods;
let directory: string;

const failing: Probe = { exec: { command: ["sh", "-c", "echo is on fire; exit 1"] }, periodSeconds: 1 };
const podOf = (own: Partial<Container>): Partial<PodSpec> => ({ containers: [{ ...SLEEPER, ...own }] });
const setup = (own: Partial<Container>, name = "setup"): Container => ({ ...SLEEPER, name, ...own });
const port = { ports: [{ containerPort: 80, hostPort: 18_080 }] };

interface Failure {
  readonly spec: () => Partial<PodSpec>;
  readonly says: RegExp;
  /** The pod is created once the pod of this name runs. */
  readonly after?: string;
}

const tag = (name: string) => `${cluster.registry.open}/deckhand/${name}:nope`;
const LIVENESS = /^The container "main" .*liveness probe failed: is on fire/i;

/** The command lines in the documents explain the pod "web". */
const FAILURES: Readonly<Record<string, Failure>> = {
  web: {
    spec: () => podOf({ image: tag("served-1") }),
    says: /^The container "main" cannot start: its image \S+:nope cannot be pulled: .*not found/,
  },
  "registry-away": {
    spec: () => podOf({ image: "127.0.0.1:9/x:1" }),
    says: /^The container "main" cannot start: its image 127.0.0.1:9\/x:1 cannot be pulled: .*connection refused/,
  },
  "never-pulled": {
    spec: () => podOf({ image: "absent:1", imagePullPolicy: "Never" }),
    says: /^The container "main" cannot start: Container image "absent:1" is not present with pull policy of Never/,
  },
  "invalid-name": {
    spec: () => podOf({ image: "deckhand/UPPER:1" }),
    says: /^The container "main" cannot start: Failed to apply default image tag "deckhand\/UPPER:1"/,
  },
  "env-secret": {
    spec: () => podOf({ env: [{ name: "A", valueFrom: { secretKeyRef: { name: "gone", key: "k" } } }] }),
    says: /^The container "main" cannot start: secret "gone" not found/,
  },
  "volume-secret": {
    spec: () => ({
      ...podOf({ volumeMounts: [{ name: "v", mountPath: "/v" }] }),
      volumes: [{ name: "v", secret: { secretName: "gone" } }],
    }),
    says: /^The pod's volumes cannot be mounted: MountVolume.SetUp failed for volume "v" : secret "gone" not found/,
  },
  "configmap-key": {
    spec: () => podOf({ env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "settings", key: "two" } } }] }),
    says: /^The container "main" cannot start: couldn't find key two in ConfigMap default\/settings/,
  },
  "no-sandbox": {
    spec: () => podOf({}),
    says: /^The pod's sandbox cannot be created: plugin type="bridge" failed \(add\): no addresses left/,
  },
  "crash-loop": {
    spec: () => ({ containers: [sh("exit 3")] }),
    says: /^The container "main" .*ended with exit code 3 \(Error\)/,
  },
  "no-command": {
    spec: () => podOf({ command: ["/nope"] }),
    says: /^The container "main" cannot start: .*"\/nope": stat \/nope: no such file or directory/,
  },
  "no-memory": {
    spec: () => ({
      containers: [{ ...sh("sleep 1; tail /dev/zero"), resources: { limits: { memory: "16Mi" } } }],
    }),
    says: /^The container "main" .*was killed for lack of memory \(OOMKilled, exit code 137\)/,
  },
  liveness: {
    spec: () => podOf({ livenessProbe: { ...failing, failureThreshold: 2 } }),
    says: LIVENESS,
  },
  readiness: {
    spec: () => podOf({ readinessProbe: failing }),
    says: /^The container "main" runs since \S+ but is not ready: Readiness probe failed: is on fire/,
  },
  startup: {
    spec: () => podOf({ startupProbe: { ...failing, failureThreshold: 1000 } }),
    says: /^The container "main" runs since \S+ but has not started up: Startup probe failed: is on fire/,
  },
  "post-start-hangs": {
    spec: () => podOf({ lifecycle: { postStart: { exec: { command: ["sleep", "1000"] } } } }),
    says: /^The container "main" waits for its postStart hook, which runs since/,
  },
  "post-start-fails": {
    spec: () => podOf({ lifecycle: { postStart: { exec: { command: ["false"] } } } }),
    says: /^The container "main" was stopped because its postStart hook failed/,
  },
  "pre-stop-hangs": {
    spec: () => ({
      ...podOf({ lifecycle: { preStop: { exec: { command: ["sleep", "1000"] } } } }),
      terminationGracePeriodSeconds: 600,
    }),
    says: /^The pod is terminating and the container "main" waits for its preStop hook, .*its deletion was requested/,
  },
  "init-fails": {
    spec: () => ({
      ...podOf({}),
      initContainers: [setup({ command: ["true"] }, "first"), setup({ command: ["false"] })],
    }),
    says: /^The init container "setup" \(2 of 2\) .*ended with exit code 1 \(Error\)/,
  },
  "init-image": {
    spec: () => ({ ...podOf({}), initContainers: [setup({ image: tag("served-2") })] }),
    says: /^The init container "setup" cannot start: its image \S+:nope cannot be pulled: .*not found/,
  },
  sidecar: {
    spec: () => ({
      ...podOf({}),
      initContainers: [setup({ restartPolicy: "Always", startupProbe: { ...failing, failureThreshold: 1000 } })],
    }),
    says: /^The sidecar "setup" runs since \S+ but has not started up: Startup probe failed: is on fire/,
  },
  "too-big": {
    spec: () => podOf({ resources: { requests: { cpu: "900" } } }),
    says: /^This node rejected the pod at \S+: OutOfcpu: Node didn't have enough resource: cpu, requested: 900000/,
  },
  elsewhere: {
    spec: () => ({ ...podOf({}), nodeSelector: { disk: "ssd" } }),
    says: /^This node rejected the pod at \S+: NodeAffinity: /,
  },
  "first-port": { spec: () => podOf(port), says: /^The pod runs since \S+, with its container started/ },
  "second-port": {
    spec: () => podOf(port),
    says: /^This node rejected the pod at \S+: NodePorts: .*didn't have free ports/,
    after: "first-port",
  },
  sysctl: {
    spec: () => ({ ...podOf({}), securityContext: { sysctls: [{ name: "kernel.msgmax", value: "65536" }] } }),
    says: /^This node rejected the pod at \S+: SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted/,
  },
  root: {
    spec: () => ({ ...podOf({}), securityContext: { runAsNonRoot: true } }),
    says: /^The container "main" cannot start: container has runAsNonRoot and image will run as root/,
  },
  deadline: {
    spec: () => ({ ...podOf({}), activeDeadlineSeconds: 3 }),
    says: /^The pod was terminated at \S+: DeadlineExceeded: Pod was active on the node longer than the specified deadline/,
  },
  weak: {
    spec: () => podOf({ resources: { requests: { cpu: `${weakMilliCpu}m` } } }),
    says: /^The pod was terminated at \S+: Preempting: Preempted in order to admit critical pod \(default\/strong is critical and finds too little cpu\)/,
  },
  strong: {
    spec: () => ({
      ...podOf({ resources: { requests: { cpu: "200m" } } }),
      priorityClassName: "system-node-critical",
    }),
    says: /^The pod runs since \S+, with its container started/,
    after: "weak",
  },
  unstoppable: {
    spec: () => podOf({}),
    says: /^The pod cannot be terminated: .*the shim does not answer.*its deletion was requested/,
  },
};

let weakMilliCpu = 0n;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "deckhand-explain-"));
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand", criProxy: true }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  pods = await ClusterPods.of(cluster);
  const { status }: Node = await pods.api.get(nodes, { name: node.name }, forever);
  weakMilliCpu = quantityMilliValue(parseQuantity(status?.allocatable?.["cpu"] ?? "0")) - 100n;
  await makeWorld();
  const now = Object.entries(FAILURES).filter(([, { after: before }]) => before === undefined);
  for (const [name, { spec }] of now) await pods.create(podOn(node.name, name, spec()));
  const later = Object.entries(FAILURES).map(async ([name, { spec, after: first }]) => {
    if (first === undefined) return;
    await pods.running(first, LIMIT_MS);
    await pods.create(podOn(node.name, name, spec()));
  });
  await Promise.all([...later, ...["pre-stop-hangs", "unstoppable"].map((name) => end(name))]);
});

after(async () => {
  await pods.close();
  await cluster.down();
  await rm(directory, { recursive: true, force: true });
});

async function makeWorld(): Promise<void> {
  await pods.api.create(
    configMaps,
    { metadata: { name: "settings", namespace: "default" }, data: { one: "1" } },
    forever,
  );
  const proxy = node.criProxy ?? assert.fail("the node has a proxy");
  proxy.hook("RunPodSandbox", {
    before: (request) => {
      const { config } = request as { readonly config?: { readonly metadata?: { readonly name: string } } };
      if (config?.metadata?.name !== "no-sandbox") return;
      throw Object.assign(new Error("refused"), {
        code: grpcStatus.UNKNOWN,
        details: 'plugin type="bridge" failed (add): no addresses left',
      });
    },
  });
  proxy.hook("StopContainer", {
    before: (request) => {
      const { containerId } = request as { readonly containerId?: string };
      if (containerId === undefined || !idOf("unstoppable").endsWith(containerId)) return;
      throw Object.assign(new Error("refused"), { code: grpcStatus.UNKNOWN, details: "the shim does not answer" });
    },
  });
}

/** Pods of `FAILURES` whose container runs for at most a second and restarts again and again. */
const CRASHING = ["crash-loop", "no-memory", "post-start-fails", "init-fails"];

function isBackingOff(name: string): boolean {
  const { initContainerStatuses = [], containerStatuses = [] } = pods.latest(name)?.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].some(
    ({ state }) => state?.waiting?.reason === "CrashLoopBackOff",
  );
}

const idOf = (name: string): string => pods.latest(name)?.status?.containerStatuses?.[0]?.containerID ?? "";

async function end(name: string): Promise<void> {
  await pods.running(name, LIMIT_MS);
  await pods.delete(name);
}

const type = async (line: string) => node.run(process.execPath, await builtBundle(), ...line.split(" ").slice(1));

/** May read pods and use the node proxy, and nothing else. */
const READER = "reader";
/** May read pods only. */
const OUTSIDER = "outsider";

async function makeReaders(): Promise<void> {
  const pod = "--resource=pods";
  await cluster.kubectl("create", "clusterrole", "pods", "--verb=get", pod);
  await cluster.kubectl("create", "clusterrole", "proxies", "--verb=get", "--resource=nodes/proxy");
  const bind = (name: string, role: string, user: string) =>
    cluster.kubectl("create", "clusterrolebinding", name, `--clusterrole=${role}`, `--user=${user}`);
  await bind("reader-pods", "pods", READER);
  await bind("reader-proxies", "proxies", READER);
  await bind("outsider-pods", "pods", OUTSIDER);
}

/** Types a line of `kubectl why` as the user, with the plugin in the path as an installed package has it. */
async function kubectlWhy(line: string, user = READER) {
  const bin = join(directory, "bin");
  const link = join(directory, "kubectl-why");
  if (!existsSync(bin)) {
    await mkdir(bin);
    await symlink(await builtBundle(), link);
    await writeFile(join(bin, "kubectl-why"), `#!/bin/sh\nexec ${process.execPath} ${link} "$@"\n`, { mode: 0o755 });
  }
  const [kubectl] = cluster.kubectlCommand;
  const env = {
    ...process.env,
    PATH: `${bin}:${dirname(kubectl)}:${process.env["PATH"]}`,
    KUBECONFIG: cluster.layout.kubeconfig,
  };
  return tryCommand(kubectl, [...line.split(" ").slice(1), `--as=${user}`], { env, limitMs: 60_000 });
}

interface Answer {
  readonly uid: string;
  readonly sentence: string;
  readonly timeline: readonly { readonly what: string }[];
}

async function explained(name: string): Promise<Answer> {
  const { stdout, stderr, code } = await type(`deckhand explain pod default/${name} --output json`);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Answer;
}

/** Explains the pods whose expected cause is still missing, until every cause was given. */
async function allSay(): Promise<void> {
  const left = new Map(Object.entries(FAILURES));
  const said = new Map<string, string>();
  const round = async () => {
    for (const [name, { says }] of left) {
      said.set(name, (await explained(name)).sentence);
      if (says.test(said.get(name) ?? "")) left.delete(name);
    }
    return left.size === 0;
  };
  await waitUntil("every cause", LIMIT_MS, round, 1_000).catch((error: unknown) => {
    const missing = [...left].map(([name, { says }]) => `${name}: ${said.get(name)}\n  wanted ${says.source}`);
    throw new Error(missing.join("\n"), { cause: error });
  });
}

void suite("why pods are as they are", () => {
  test("the first sentence gives the cause for each of thirty pods while the agent runs", async () => {
    await allSay();
    figure("pods explained", Object.keys(FAILURES).length, "");
  });

  test("the documents' command lines work, and so do --uid, suggestions for a mistyped name and usage errors", async () => {
    assert.ok(LINES.length >= 3);
    for (const line of LINES) {
      const { stdout, stderr, code } = await type(line);
      assert.equal(code, 0, stderr);
      assert.match(stdout, line.includes(" node") ? /The node is ready\./ : /cannot be pulled/);
      assert.ok(
        stdout.split("\n").every((text) => line.includes("json") || text.length <= 120),
        stdout,
      );
    }
    const { uid } = await explained("web");
    assert.equal((await type(`deckhand explain pod default/web --uid ${uid}`)).code, 0);
    const near = await type("deckhand explain pod default/wep");
    assert.deepEqual([near.code, /^Did you mean: .*default\/web/m.test(near.stderr)], [1, true]);
    for (const line of ["deckhand explain pod web", "deckhand why pod web -n default"]) {
      assert.equal((await type(line)).code, 0, line);
    }
    assert.equal((await type("deckhand explain pod web shop")).code, 2);
  });

  test("kubectl why gives the same thirty causes to a user who may only read pods and use nodes/proxy", async () => {
    await makeReaders();
    await waitUntil(
      "the authorizer to know the reader",
      20_000,
      async () => (await kubectlWhy("kubectl why pod web")).code === 0,
    );
    for (const [name, { says }] of Object.entries(FAILURES)) {
      const { stdout, stderr, code } = await kubectlWhy(`kubectl why pod ${name} -o json`);
      assert.equal(code, 0, stderr);
      assert.match((JSON.parse(stdout) as Answer).sentence, says, name);
    }
    for (const line of WHY_LINES) {
      const { stdout, stderr, code } = await kubectlWhy(line.replace("n1", node.name));
      assert.equal(code, 0, stderr);
      assert.match(stdout, /cannot be pulled|The node is ready\./);
    }
    assert.ok(WHY_LINES.length >= 3);
    const refused = await kubectlWhy("kubectl why pod web", OUTSIDER);
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(refused.stderr, /\(Forbidden\).*User "outsider" cannot get resource "nodes\/proxy"/);
  });

  test("no explanation contains a Secret's value or a terminal escape that a container wrote", async () => {
    const value = "c2VjcmV0LXZhbHVl";
    await cluster.kubectl("create", "secret", "generic", "hidden", `--from-literal=key=${value}`);
    const env = [{ name: "KEY", valueFrom: { secretKeyRef: { name: "hidden", key: "key" } } }];
    const script = "printf '\\033[31mred\\233' > /dev/termination-log; exit 3";
    const volumes = [{ name: "hidden", secret: { secretName: "hidden" } }];
    const container = { ...sh(script), env, volumeMounts: [{ name: "hidden", mountPath: "/hidden" }] };
    await pods.create(podOn(node.name, "escapes", { containers: [container], volumes, restartPolicy: "Never" }));
    const lines = ["kubectl why pod escapes", "kubectl why pod escapes -o json"];
    const ended = async () => /exit code 3/.test((await kubectlWhy(lines[0] ?? "")).stdout);
    await waitUntil("the exit to be explained", LIMIT_MS, ended, 500);
    const journal = join(node.inside("/var/lib/kubelet"), "deckhand/journal");
    const recorded = (
      await Promise.all((await readdir(journal)).map((name) => readFile(join(journal, name), "latin1")))
    ).join("");
    assert.ok(recorded.includes("escapes") && !recorded.includes(value));
    for (const line of lines) {
      const { stdout } = await kubectlWhy(line);
      assert.doesNotMatch(stdout, /(?!\n)\p{Cc}/u);
      assert.ok(!stdout.includes(value), line);
    }
  });

  test("the causes are the same after the agent stopped, without the API server, and the timeline is complete", async () => {
    const { uid, timeline } = await explained("first-port");
    assert.deepEqual(
      ["admitted by this node", "sandbox created", "main: started"].filter(
        (what) => !timeline.some((l) => l.what === what),
      ),
      [],
    );
    // A stopped agent cannot know how a container ended that was running when the agent stopped.
    await waitUntil(
      "every crashing container to be in back-off",
      LIMIT_MS,
      async () => CRASHING.every(isBackingOff),
      50,
    );
    await cluster.component(`kubelet@${node.name}`).end();
    const fallback = await kubectlWhy("kubectl why pod crash-loop");
    assert.equal(fallback.code, 0, fallback.stderr);
    assert.match(
      fallback.stdout,
      /^Node \S+ did not explain it: .*\n[^]*container main waits: CrashLoopBackOff: back-off/,
    );
    assert.match(fallback.stdout, /Events: Error from server \(Forbidden\)/);
    await cluster.component("kube-apiserver").pause();
    try {
      await allSay();
      assert.equal((await explained("first-port")).uid, uid);
    } finally {
      await cluster.component("kube-apiserver").resume();
    }
  });

  test("a stopped runtime is the cause for a pod that is created meanwhile", async () => {
    await cluster.component(`kubelet@${node.name}`).restart();
    await cluster.component(`containerd@${node.name}`).end();
    await pods.create(podOn(node.name, "late", podOf({})));
    // Which sentence it is depends on how far the new agent got before the runtime ended.
    const says =
      /^The pod cannot be started: the container runtime of this node is not well|^The pod waits for admission .*the container runtime/;
    await waitUntil("its cause", LIMIT_MS, async () => says.test((await explained("late")).sentence), 1_000);
    const ofNode = async () => (await type("deckhand explain node")).stdout;
    await waitUntil("the node's state", LIMIT_MS, async () => /^The node is not ready: /m.test(await ofNode()), 1_000);
    assert.match(
      await ofNode(),
      /\nReady +False +KubeletNotReady since \S+: .*container runtime (?:is down|status check)/,
    );
    assert.match(await ofNode(), /\nwaits since \S+ for the container runtime: /);
    await cluster.component(`containerd@${node.name}`).restart();
  });
});
