/** Nodes with the same pods and configuration, one for each agent that runs, and the clients that call them. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { type Cluster, type ClusterNode, startCluster } from "../../cluster/cluster.ts";
import { pause, waitUntil } from "../../cluster/wait.ts";
import { NODES, SIDES, type Side } from "../../golden/sides.ts";
import { askPlainly, NodeCaller, type Said } from "../../support/node-caller.ts";
import { type Identity, TestCertificates } from "../../support/test-certificates.ts";
import { type Facts, factsOf, neutralFor } from "./facts.ts";
import { areAtRest, areRunning, makePods } from "./pods.ts";
import { type Asker, ask, type Listener, type Question } from "./questions.ts";

const PORTS: Readonly<Record<Listener, number>> = { api: 10250, health: 10248, readOnly: 10255 };
const configuration = { readOnlyPort: PORTS.readOnly, healthzBindAddress: "0.0.0.0" };
/** The Go kubelet relists its runtime every second, and updates a pod's status one relist later. */
const STEADY_MS = 3_000;

type Credentials = Readonly<Record<Asker, { readonly identity?: Identity; readonly token?: string }>>;

export class AskedNode implements Disposable {
  readonly #node: ClusterNode;
  readonly #namespace: string;
  readonly #callers: Readonly<Record<Asker, NodeCaller>>;
  readonly #neutral: (text: string) => string;

  constructor(cluster: Cluster, node: ClusterNode, namespace: string, credentials: Credentials) {
    this.#node = node;
    this.#namespace = namespace;
    this.#neutral = neutralFor(cluster, node, namespace);
    const caller = (as: Asker) => new NodeCaller({ host: node.address, port: PORTS.api, ...credentials[as] });
    this.#callers = {
      operator: caller("operator"),
      poor: caller("poor"),
      nobody: caller("nobody"),
      stranger: caller("stranger"),
      badToken: caller("badToken"),
    };
  }

  #say({ listener, as, method, path: asked, headers, body }: Question): Promise<Said> {
    const path = asked.replaceAll("NS", this.#namespace);
    if (listener === "api") return this.#callers[as].ask(path, method, headers, body);
    return askPlainly(`http://${this.#node.address}:${PORTS[listener]}`, method, headers, body, path);
  }

  async facts(question: Question): Promise<Facts> {
    return factsOf(await this.#say(question), question, this.#neutral);
  }

  async pods(page = "/pods"): Promise<readonly Pod[]> {
    const { body } = await this.#callers.operator.ask(page);
    return (JSON.parse(body) as { readonly items: readonly Pod[] | null }).items ?? [];
  }

  /** Waits until every pod has reached its final state and the pages about pods have stopped changing. */
  async settled(): Promise<void> {
    await waitUntil("every pod to be at rest", 90_000, async () => areAtRest(await this.pods()));
    let running: readonly Pod[] = [];
    await waitUntil("the pods that run", 30_000, async () => {
      running = await this.pods("/runningpods/");
      return areRunning(running);
    }).catch((error: unknown) => {
      const names = running.map(({ metadata }) => metadata?.name).join(", ");
      throw new Error(`these pods run: ${names}`, { cause: error });
    });
    const read = () => Promise.all(["/pods", "/runningpods/"].map((path) => this.facts(ask(path))));
    await waitUntil("the pages about pods to stop changing", 60_000, async () => {
      const before = await read();
      await pause(STEADY_MS);
      return isDeepStrictEqual(await read(), before);
    });
  }

  [Symbol.dispose](): void {
    for (const one of Object.values(this.#callers)) one[Symbol.dispose]();
  }
}

export interface World extends AsyncDisposable {
  node(side: Side): AskedNode;
  /** The pods of that node in the API server. */
  podsOfApi(side: Side): Promise<readonly Pod[]>;
  /** Restarts the agents with `enableDebuggingHandlers: false`. */
  closeDebugging(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  await using made = new AsyncDisposableStack();
  const certificates = made.use(await TestCertificates.in());
  const name = `ends-${process.pid}`;
  const options = { configuration: { ...configuration, kubeletCgroups: `/deckhand-${name}/parts` } };
  const cluster = await startCluster({
    name,
    controlPlane: "full",
    nodes: SIDES.map((agent) => ({ agent, options })),
  });
  made.defer(() => cluster.down());
  await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=60s");
  const nodeOf = (side: Side) =>
    cluster.nodes.find((node) => node.name === NODES[side]) ?? assert.fail(`no node for ${side}`);
  const namespaceOf = (side: Side) => `by-${side}`;
  await Promise.all(SIDES.map((side) => makePods(cluster, nodeOf(side), namespaceOf(side))));
  const unknown = await certificates.selfSigned({ subject: "/CN=unknown" });
  const credentials = {
    operator: { identity: await identityOf(cluster, "operator", ["system:masters"]) },
    poor: { identity: await identityOf(cluster, "poor", []) },
    nobody: {},
    stranger: { identity: await certificates.issue(unknown, { subject: "/O=system:masters/CN=operator" }) },
    badToken: { token: "no.such.token" },
  };
  const asked = new Map(
    SIDES.map((side) => [side, made.use(new AskedNode(cluster, nodeOf(side), namespaceOf(side), credentials))]),
  );
  await Promise.all([...asked.values()].map((each) => each.settled()));
  const all = made.move();
  const closed = { configuration: { ...options.configuration, enableDebuggingHandlers: false } };
  return {
    node: (side) => asked.get(side) ?? assert.fail(`${side} does not run`),
    podsOfApi: async (side) => {
      const text = await cluster.kubectl("-n", namespaceOf(side), "get", "pods", "--show-managed-fields", "-o", "json");
      return (JSON.parse(text) as { readonly items: readonly Pod[] }).items;
    },
    closeDebugging: async () => {
      await Promise.all(SIDES.map((side) => cluster.changeAgent(NODES[side], side, closed)));
      const isServing = (node: AskedNode) =>
        node.pods().then(
          () => true,
          () => false,
        );
      await waitUntil("the agents to serve again", 60_000, async () =>
        (await Promise.all([...asked.values()].map(isServing))).every(Boolean),
      );
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function identityOf(cluster: Cluster, user: string, groups: readonly string[]): Promise<Identity> {
  const { certFile, keyFile } = await cluster.api.clientCertificate(user, groups);
  return { certificatePem: await readFile(certFile, "utf8"), keyPem: await readFile(keyFile, "utf8") };
}
