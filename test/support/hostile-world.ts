/** A Deckhand node with hostile pods, and a server beside it whose probe responses never end. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Container, Pod, PodSpec, Probe } from "../../src/api/gen/core-v1.ts";
import { NODE_OPTIONS } from "../../tools/build/executable.ts";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { waitUntil } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import { scrape } from "../integration/node-metrics/scrape.ts";
import { builtBundle } from "./built-program.ts";
import { readExposition } from "./exposition.ts";
import { cpuMsOf } from "./process-time.ts";
import { rawApi } from "./raw-api.ts";
import { LASTING } from "./survival-world.ts";

const SERVER = fileURLToPath(new URL("hostile-pod-server.ts", import.meta.url));
const PORTS = { grpc: 17_001, http: 17_002 };
/** A probe that its author wants to last: it fails during the whole test and never restarts its container. */
const LASTING_PROBE = { periodSeconds: 1, timeoutSeconds: 60, failureThreshold: 1_000_000 };

/**
 * Name of a pod whose container is probed every second. The probe itself records when, as the machine's uptime in
 * seconds.
 */
export const probedOn = ({ name }: ClusterNode): string => `probed-${name}`;
const NOTED_PROBE = {
  exec: { command: ["sh", "-c", "cut -d. -f1 /proc/uptime >> /tmp/probed"] },
  periodSeconds: 1,
  failureThreshold: 3,
};
/** Times are whole seconds, so an interval of one second may appear as two. */
const PROBE_GAP_SECONDS_MAX = 2;

/**
 * The quota of a pod with `limits.cpu` of 200m. The test is to measure the agent's CPU time, not a core that the server
 * keeps busy itself.
 */
const SERVER_QUOTA = "20000";

async function limitCpu(cgroup: string, pid: number): Promise<void> {
  const directory = join("/sys/fs/cgroup/cpu", cgroup);
  await mkdir(directory);
  await writeFile(join(directory, "cpu.cfs_quota_us"), SERVER_QUOTA);
  await writeFile(join(directory, "cgroup.procs"), String(pid));
}

export class HostileWorld {
  readonly cluster: Cluster;
  /** The node on which the hostile pods run. */
  readonly node: ClusterNode;
  readonly #api: Awaited<ReturnType<typeof rawApi>>;

  private constructor(cluster: Cluster, node: ClusterNode, api: Awaited<ReturnType<typeof rawApi>>) {
    this.cluster = cluster;
    this.node = node;
    this.#api = api;
  }

  /** `count`: number of nodes; hostile pods run on the first. */
  static async start(count = 1): Promise<HostileWorld> {
    // Uses the executable's options, which determine how much memory the agent keeps.
    const deckhand = [process.execPath, ...NODE_OPTIONS, await builtBundle()];
    const cluster = await startCluster({
      controlPlane: "full",
      nodes: Array.from({ length: count }, () => ({ agent: "deckhand", options: { deckhand } }) as const),
    });
    try {
      const node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
      const command = [process.execPath, SERVER, node.address, String(PORTS.grpc), String(PORTS.http)];
      const server = await cluster.start(
        { name: "hostile", command, ready: { kind: "listens", port: PORTS.http } },
        node,
      );
      await limitCpu(`${cluster.layout.cgroupParent}/hostile`, server.pid);
      return new HostileWorld(cluster, node, await rawApi(cluster));
    } catch (error) {
      await cluster.down();
      throw error;
    }
  }

  down(): Promise<void> {
    return this.cluster.down();
  }

  get agentPid(): number {
    return this.cluster.component(`kubelet@${this.node.name}`).pid;
  }

  agentLog(): Promise<string> {
    return readFile(this.cluster.component(`kubelet@${this.node.name}`).logFile, "utf8");
  }

  podOf(name: string, own: Partial<Container> = {}, spec: Partial<PodSpec> = {}, node = this.node): Pod {
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default" },
      spec: {
        nodeName: node.name,
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "app", image: BUSYBOX_IMAGE, command: [...LASTING], ...own }],
        ...spec,
      },
    };
  }

  /** A pod whose image name has 200 KB. */
  longName(name: string): Pod {
    return this.podOf(name, { image: `A${".a".repeat(100_000)}` });
  }

  /** A pod whose gRPC probe gets an endless response. */
  endlessGrpc(name: string): Pod {
    return this.#probed(name, { grpc: { port: PORTS.grpc } });
  }

  /** A pod whose HTTP probe gets an endless response, byte by byte. */
  trickle(name: string): Pod {
    return this.#probed(name, { httpGet: { path: "/", port: PORTS.http } });
  }

  async create(pod: Pod): Promise<void> {
    const { status, body } = await this.#api("POST", "/api/v1/namespaces/default/pods", pod);
    assert.equal(status, 201, JSON.stringify(body).slice(0, 1_000));
  }

  async delete(name: string): Promise<void> {
    await this.#api("DELETE", `/api/v1/namespaces/default/pods/${name}?gracePeriodSeconds=0`);
  }

  async find(name: string): Promise<Pod> {
    return (await this.#api("GET", `/api/v1/namespaces/default/pods/${name}`)).body as Pod;
  }

  async runs(name: string): Promise<void> {
    const isRunning = async () => (await this.find(name)).status?.phase === "Running";
    await waitUntil(`${name} to run`, 30_000, isRunning, 20);
  }

  async startProbed(node: ClusterNode): Promise<void> {
    await this.create(this.podOf(probedOn(node), { livenessProbe: NOTED_PROBE }, {}, node));
    await this.runs(probedOn(node));
    const isProbed = () => this.cluster.kubectl("exec", probedOn(node), "--", "test", "-s", "/tmp/probed");
    await waitUntil("its first probe", 30_000, async () => (await isProbed()) === "", 500);
  }

  /** Time of the last probe of the pod beside the hostile ones. */
  async lastProbeSeconds(): Promise<number> {
    return (await this.#probeTimes()).at(-1) ?? 0;
  }

  async assertProbedSince(beginSeconds: number, probesMin: number): Promise<void> {
    const seconds = (await this.#probeTimes()).filter((at) => at >= beginSeconds);
    const gaps = seconds.slice(1).map((at, index) => at - (seconds[index] ?? at));
    figure("longest time between two probes", Math.max(...gaps), "s");
    assert.ok(gaps.length >= probesMin && Math.max(...gaps) <= PROBE_GAP_SECONDS_MAX, gaps.join(" "));
  }

  async #probeTimes(): Promise<readonly number[]> {
    const text = await this.cluster.kubectl("exec", probedOn(this.node), "--", "cat", "/tmp/probed");
    return text.trim().split("\n").map(Number);
  }

  /** When the node's lease was last renewed, as the API server reports it. */
  async leaseWallMs(): Promise<number> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${this.node.name}`;
    const { body } = await this.#api("GET", path);
    return Date.parse((body as { readonly spec: { readonly renewTime: string } }).spec.renewTime);
  }

  async residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.agentPid}/status`, "latin1");
    return 1024 * Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1]);
  }

  /**
   * Event loop delay since the last read. Read through the API server: the agent may cut connections from the address
   * of hostile clients.
   */
  async loopDelayMs(): Promise<{ readonly p99: number; readonly max: number }> {
    const path = `/api/v1/nodes/${this.node.name}/proxy/metrics`;
    const figures = readExposition(await this.cluster.kubectl("get", "--raw", path));
    const of = (name: string) => 1_000 * (figures.get(name)?.samples[0]?.value ?? Number.NaN);
    return { p99: of("nodejs_eventloop_lag_p99_seconds"), max: of("nodejs_eventloop_lag_max_seconds") };
  }

  /** Number and total duration of the probes of a pod's container so far, from the agent's own histogram. */
  async probesOf(pod: string, node = this.node): Promise<{ readonly count: number; readonly totalMs: number }> {
    const family = (await scrape(this.cluster, node, "/metrics/probes")).get("prober_probe_duration_seconds");
    const of = (end: string) =>
      family?.samples.find(({ name, labels }) => name.endsWith(end) && labels["pod"] === pod)?.value ?? Number.NaN;
    return { count: of("_count"), totalMs: 1_000 * of("_sum") };
  }

  /** The agent's CPU time so far. */
  agentCpuMs({ name }: ClusterNode): Promise<number> {
    return cpuMsOf(this.cluster.component(`kubelet@${name}`).pid);
  }

  /** How long the node's own health check took. */
  async healthMs(): Promise<number> {
    const askedMs = performance.now();
    const { stdout } = await this.node.run("wget", "-qO-", "http://127.0.0.1:10248/healthz");
    assert.equal(stdout, "ok");
    return performance.now() - askedMs;
  }

  #probed(name: string, handler: Probe): Pod {
    return this.podOf(name, { livenessProbe: { ...handler, ...LASTING_PROBE } }, { hostNetwork: true });
  }
}
