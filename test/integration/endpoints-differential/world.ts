/** Two nodes with the same pods and the same configuration, and everybody who may ask them something. */
import { readFile } from "node:fs/promises";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { type Cluster, type ClusterNode, startCluster } from "../../cluster/cluster.ts";
import { waitUntil } from "../../cluster/wait.ts";
import { askPlainly, NodeCaller, type Said } from "../../support/node-caller.ts";
import { type Identity, TestCertificates } from "../../support/test-certificates.ts";
import { type Facts, factsOf, neutralFor } from "./facts.ts";
import { areAtRest, lastingCount, makePods } from "./pods.ts";
import type { Asker, Door, Question } from "./questions.ts";

const PORTS: Readonly<Record<Door, number>> = { api: 10250, health: 10248, readOnly: 10255 };
const configuration = { readOnlyPort: PORTS.readOnly, healthzBindAddress: "0.0.0.0" };

type Credentials = Readonly<Record<Asker, { readonly identity?: Identity; readonly token?: string }>>;

export class AskedNode implements Disposable {
  readonly #node: ClusterNode;
  readonly #namespace: string;
  readonly #callers: Readonly<Record<Asker, NodeCaller>>;
  readonly #neutral: (text: string) => string;

  constructor(node: ClusterNode, namespace: string, credentials: Credentials) {
    this.#node = node;
    this.#namespace = namespace;
    this.#neutral = neutralFor(node, namespace);
    const caller = (as: Asker) => new NodeCaller({ host: node.address, port: PORTS.api, ...credentials[as] });
    this.#callers = {
      operator: caller("operator"),
      poor: caller("poor"),
      nobody: caller("nobody"),
      stranger: caller("stranger"),
      badToken: caller("badToken"),
    };
  }

  #say({ door, as, method, path: asked, headers, body }: Question): Promise<Said> {
    const path = asked.replaceAll("NS", this.#namespace);
    if (door === "api") return this.#callers[as].ask(path, method, headers, body);
    return askPlainly(`http://${this.#node.address}:${PORTS[door]}`, method, headers, body, path);
  }

  async facts(question: Question): Promise<Facts> {
    return factsOf(await this.#say(question), question.depth, this.#neutral);
  }

  async pods(page = "/pods"): Promise<readonly Pod[]> {
    const { body } = await this.#callers.operator.ask(page);
    return (JSON.parse(body) as { readonly items: readonly Pod[] | null }).items ?? [];
  }

  [Symbol.dispose](): void {
    for (const one of Object.values(this.#callers)) one[Symbol.dispose]();
  }
}

export interface World extends AsyncDisposable {
  readonly go: AskedNode;
  readonly ours: AskedNode;
  /** Starts both again without what the configuration calls debugging. */
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
    nodes: [
      { agent: "go", options },
      { agent: "deckhand", options },
    ],
  });
  made.defer(() => cluster.down());
  const [first, second] = cluster.nodes as [ClusterNode, ClusterNode];
  await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=60s");
  await Promise.all([makePods(cluster, first, "by-go"), makePods(cluster, second, "by-deckhand")]);
  const unknown = await certificates.selfSigned({ subject: "/CN=unknown" });
  const credentials = {
    operator: { identity: await identityOf(cluster, "operator", ["system:masters"]) },
    poor: { identity: await identityOf(cluster, "poor", []) },
    nobody: {},
    stranger: { identity: await certificates.issue(unknown, { subject: "/O=system:masters/CN=operator" }) },
    badToken: { token: "no.such.token" },
  };
  const go = made.use(new AskedNode(first, "by-go", credentials));
  const ours = made.use(new AskedNode(second, "by-deckhand", credentials));
  await waitUntil("every pod to be at rest on both nodes", 90_000, async () =>
    (await Promise.all([go.pods(), ours.pods()])).every(areAtRest),
  );
  // The Go kubelet tells of pods that run what it last saw of the runtime.
  await waitUntil("the pods that run to be told", 90_000, async () => {
    const [there, here] = await Promise.all([go.pods("/runningpods/"), ours.pods("/runningpods/")]);
    return lastingCount(there) === lastingCount(here);
  });
  const all = made.move();
  const closed = { configuration: { ...options.configuration, enableDebuggingHandlers: false } };
  const closeDebugging = async () => {
    await Promise.all([
      cluster.changeAgent(first.name, "go", closed),
      cluster.changeAgent(second.name, "deckhand", closed),
    ]);
    const isServing = (node: AskedNode) =>
      node.pods().then(
        () => true,
        () => false,
      );
    await waitUntil("both to serve again", 60_000, async () =>
      (await Promise.all([go, ours].map(isServing))).every(Boolean),
    );
  };
  return { go, ours, closeDebugging, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function identityOf(cluster: Cluster, user: string, groups: readonly string[]): Promise<Identity> {
  const { certFile, keyFile } = await cluster.api.clientCertificate(user, groups);
  return { certificatePem: await readFile(certFile, "utf8"), keyPem: await readFile(keyFile, "utf8") };
}
