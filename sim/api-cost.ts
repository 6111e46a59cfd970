/**
 * Measures what one node costs the API server: requests, bytes and watches, counted at the ApiServer port. The
 * unchanged kubelet runs on the virtual clock.
 *
 * Bytes are those of the JSON bodies. The simulator has no HTTP/2 frames, headers or TLS, and does not gzip lists.
 */
import type { Pod } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import type { WatchEvent } from "../src/ports/api-server.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { scripted } from "./fake-runtime/behaviour.ts";
import { kubelet } from "./kubelet.ts";
import { type ObservedCall, spyOnApi } from "./port-spy.ts";
import type { AgentFactory } from "./sim-node.ts";
import { World } from "./world.ts";

const NODE = "n1";
const SEED = 1;
/** Excludes registration, the first status and the first list, because a node starts once and lives long. */
const SETTLED_MS = 60_000;
/** The number of images that a Node's status lists. */
const IMAGES = 50;
/** One pod is deleted and one created per interval: 96 a day. */
const CHURN_EVERY_MS = 900_000;
const POD_KIND = kindOf(pods);

export interface Load {
  readonly pods: number;
  readonly hasChurn: boolean;
}

export interface Tally {
  readonly requests: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface Cost {
  /** Keyed by "method plural", with "/status" for that subresource. */
  readonly calls: ReadonlyMap<string, Tally>;
  readonly watchesOpen: number;
  /** Pods deleted and replaced. */
  readonly lifecycles: number;
}

const NONE: Tally = { requests: 0, sentBytes: 0, receivedBytes: 0 };

export async function measure(load: Load, lastsMs: number): Promise<Cost> {
  const calls = new Map<string, Tally>();
  let counting = false;
  const add = (call: ObservedCall, more: Partial<Tally>) => {
    if (!counting) return;
    const name = nameOf(call);
    const { requests, sentBytes, receivedBytes } = calls.get(name) ?? NONE;
    calls.set(name, {
      requests: requests + (more.requests ?? 0),
      sentBytes: sentBytes + (more.sentBytes ?? 0),
      receivedBytes: receivedBytes + (more.receivedBytes ?? 0),
    });
  };
  const agent: AgentFactory = (ports, node) => {
    const spy = {
      called: (call: ObservedCall) => add(call, { requests: 1, sentBytes: bodyBytes(call) }),
      answered: (call: ObservedCall, answer: unknown) => add(call, { receivedBytes: jsonBytes(answer) }),
      streamed: (call: ObservedCall, value: unknown) => add(call, { receivedBytes: eventBytes(value) }),
    };
    return kubelet(spyOnApi(ports, spy), node);
  };
  const { world, replaceOldest } = settledWorld(load, agent);
  await world.advance(SETTLED_MS);
  counting = true;
  const endMs = world.clock.monotonicMs() + lastsMs;
  let lifecycles = 0;
  while (load.hasChurn && world.clock.monotonicMs() + CHURN_EVERY_MS <= endMs) {
    await world.advance(CHURN_EVERY_MS / 2);
    replaceOldest();
    lifecycles += 1;
    await world.advance(CHURN_EVERY_MS / 2);
  }
  await world.advance(endMs - world.clock.monotonicMs());
  const failure = world.nodes.get(NODE)?.failure;
  if (failure !== undefined) throw new Error("the agent ended by itself", { cause: failure.error });
  return { calls, watchesOpen: world.api.watchCount, lifecycles };
}

function settledWorld({ pods: count }: Load, agent: AgentFactory) {
  const world = new World({ seed: SEED, latencyMs: (_call, random) => 1 + Math.floor(random.fraction() * 4) });
  const node = world.addNode(NODE);
  for (let index = 0; index < IMAGES; index += 1) {
    node.runtime.images.load(`registry.example.com/team-${index % 7}/service-${index}:v1.${index}.0`, {});
  }
  node.start(agent);
  const names: string[] = [];
  let made = 0;
  const create = () => {
    const name = `service-${made % IMAGES}-5d4f8c7b9d-${made}`;
    world.api.writes.create(POD_KIND, podNamed(name, made % IMAGES), ADMIN);
    names.push(name);
    made += 1;
  };
  for (let index = 0; index < count; index += 1) create();
  const replaceOldest = () => {
    const name = names.shift() ?? "";
    world.api.writes.delete(POD_KIND, { namespace: "default", name }, {}, ADMIN);
    create();
  };
  return { world, replaceOldest };
}

function podNamed(name: string, index: number): Pod {
  const command = [...scripted({ onSignal: { SIGTERM: { afterMs: 300, code: 0 } } })];
  const image = `registry.example.com/team-${index % 7}/service-${index}:v1.${index}.0`;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: { app: `service-${index}`, "pod-template-hash": "5d4f8c7b9d" } },
    spec: {
      nodeName: NODE,
      automountServiceAccountToken: false,
      containers: [{ name: "app", image, imagePullPolicy: "IfNotPresent", command }],
    },
  };
}

function nameOf({ method, args }: ObservedCall): string {
  const [resource] = args as readonly [{ readonly plural: string }];
  const hasStatus = args.some((arg) => (arg as { readonly subresource?: string }).subresource === "status");
  return `${method} ${resource.plural}${hasStatus ? "/status" : ""}`;
}

function bodyBytes({ method, args }: ObservedCall): number {
  const [, first, second] = args;
  switch (method) {
    case "create":
    case "update":
      return jsonBytes(first);
    case "patch":
      return jsonBytes((second as { readonly body: unknown }).body);
    case "delete":
      return jsonBytes(second);
    default:
      return 0;
  }
}

/** The size of a watch event as the API server encodes it. A bookmark's object has little more than its version. */
function eventBytes(value: unknown): number {
  const event = value as WatchEvent<{ readonly kind?: string; readonly apiVersion?: string }>;
  if (event.kind !== "bookmark") return jsonBytes({ type: event.kind.toUpperCase(), object: event.object });
  const metadata = { resourceVersion: event.resourceVersion, creationTimestamp: null };
  return jsonBytes({ type: "BOOKMARK", object: { kind: "Pod", apiVersion: "v1", metadata } });
}

const jsonBytes = (value: unknown): number =>
  value === undefined ? 0 : new TextEncoder().encode(JSON.stringify(value)).length;

export const IDLE: Load = { pods: 0, hasChurn: false };
export const BUSY: Load = { pods: 30, hasChurn: true };
