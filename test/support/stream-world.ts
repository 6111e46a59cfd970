/** Pods with one container each on a test runtime, behind the streaming routes; and clients of those routes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import type { Container, Pod } from "../../src/api/gen/core-v1.ts";
import { Registry } from "../../src/base/metrics/registry.ts";
import { LatestCell } from "../../src/concurrency/latest-cell.ts";
import { LatestTable } from "../../src/concurrency/latest-table.ts";
import { streamMetrics } from "../../src/domain/metrics/stream-metrics.ts";
import { type DesiredPods, noPods } from "../../src/domain/pod/desired-pod.ts";
import type { PodRuntimeView } from "../../src/domain/pod/runtime-view.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { RuntimeStreams } from "../../src/ports/runtime.ts";
import type { CheckpointParts } from "../../src/server/streams/checkpoint.ts";
import { streamingRoutes } from "../../src/server/streams/routes.ts";
import { StreamSessions } from "../../src/server/streams/sessions.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { waitUntil } from "../cluster/wait.ts";
import { keptLog } from "./quiet-log.ts";
import { type RouteServer, routeServer } from "./route-server.ts";
import { type RuntimeAnswers, type StreamingRuntime, streamingRuntime } from "./streaming-runtime.ts";

export const IDLE_MS = 14_400_000;

export interface PodOfTest {
  readonly uid?: string;
  readonly name?: string;
  readonly source?: "api" | "file";
  readonly tty?: boolean;
  readonly state?: "running" | "exited";
}

export interface StreamWorld {
  readonly runtime: StreamingRuntime;
  readonly server: RouteServer;
  readonly registry: Registry;
  /** The requests to the runtime, in order. */
  readonly calls: readonly string[];
  /** Number of ended streams by reason. */
  closed(): Readonly<Record<string, number>>;
}

export interface StreamWorldOptions extends RuntimeAnswers {
  readonly pods?: readonly PodOfTest[];
  readonly mirrors?: DesiredPods["mirrors"];
  readonly clock?: Clock;
  readonly webSockets?: boolean;
  readonly execSync?: RuntimeStreams["execSync"];
  /** The streaming URL to return, in place of the test server's. */
  readonly url?: string;
  readonly fail?: Error;
  readonly checkpoints?: Omit<CheckpointParts, "known">;
}

export async function streamWorld(t: TestContext, options: StreamWorldOptions = {}): Promise<StreamWorld> {
  const runtime = await streamingRuntime(t, options);
  const calls: string[] = [];
  const url = (call: string) => {
    calls.push(call);
    if (options.fail !== undefined) throw options.fail;
    return options.url ?? runtime.url;
  };
  const clock = options.clock ?? hostClock;
  const registry = new Registry();
  const sessions = new StreamSessions(clock, keptLog(), IDLE_MS, streamMetrics(registry));
  const known = knownPods(options.pods ?? [{}], options.mirrors);
  const streams: RuntimeStreams = {
    exec: async (id, command, { stdin, stdout, stderr, tty }) =>
      url(`exec ${id} ${command.join(" ")} ${[stdin, stdout, stderr, tty].map(Number).join("")}`),
    attach: async (id, { stdin, stdout, stderr, tty }) =>
      url(`attach ${id} ${[stdin, stdout, stderr, tty].map(Number).join("")}`),
    portForward: async (id, ports) => url(`portForward ${id} ${ports.join(",")}`),
    execSync: options.execSync ?? (() => assert.fail("no command is run")),
  };
  const routes = streamingRoutes(
    { known, runtime: streams, clock, sessions, webSockets: options.webSockets ?? true },
    options.checkpoints === undefined ? undefined : { ...options.checkpoints, known },
  );
  const server = await routeServer(t, routes);
  return { runtime, server, registry, calls, closed: () => closedOf(registry) };
}

function closedOf(registry: Registry): Readonly<Record<string, number>> {
  const family = registry.collect().find(({ name }) => name === "deckhand_streams_closed_total");
  if (family?.kind !== "counter") return {};
  return Object.fromEntries(family.samples.map(({ labels, value }) => [labels[1]?.[1] ?? "", value]));
}

function knownPods(pods: readonly PodOfTest[], mirrors: DesiredPods["mirrors"] = new Map()) {
  const podRuntimeStatus = new LatestTable<string, PodRuntimeView>();
  const desired = pods.map(({ uid = "uid-1", name = "web", source = "api", tty = false, state = "running" }) => {
    const container: Container = { name: "app", image: "busybox", tty };
    const pod: Pod = { metadata: { name, namespace: "default", uid }, spec: { containers: [container] } };
    // Has only the fields that are read.
    const view = {
      uid,
      sandboxes: [{ id: `sandbox-of-${uid}`, state: state === "running" ? "ready" : "notReady" }],
      containers: [{ id: `app-of-${uid}`, state, labels: {}, metadata: { name: "app", attempt: 0 } }],
    } as unknown as PodRuntimeView;
    podRuntimeStatus.set(uid, view);
    return [uid, { uid, source, pod, given: pod, firstSeenWallMs: 0 }] as const;
  });
  return { desiredPods: new LatestCell<DesiredPods>({ ...noPods, pods: new Map(desired), mirrors }), podRuntimeStatus };
}

export const EXEC = "/exec/default/web/app?command=sh&input=1&output=1&error=1";

/** A client on the WebSocket of Node.js, which collects the received bytes by channel. */
export class ChannelClient {
  readonly socket: WebSocket;
  readonly #heard = new Map<number, Buffer>();
  messages = 0;
  closeCode: number | undefined;

  constructor({ port }: RouteServer, path: string) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, "v5.channel.k8s.io");
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("message", ({ data }) => {
      const bytes = Buffer.from(data as ArrayBuffer);
      this.messages += 1;
      const channel = bytes[0] ?? -1;
      this.#heard.set(channel, Buffer.concat([this.heard(channel), bytes.subarray(1)]));
    });
    this.socket.addEventListener("close", ({ code }) => {
      this.closeCode = code;
    });
  }

  heard(channel: number): Buffer {
    return this.#heard.get(channel) ?? Buffer.alloc(0);
  }

  async opened(): Promise<this> {
    await waitUntil("the WebSocket to open", 10_000, async () => this.socket.readyState === WebSocket.OPEN);
    return this;
  }

  send(channel: number, data: string | Uint8Array): void {
    this.socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(data)]));
  }

  async closed(): Promise<number> {
    await waitUntil("the WebSocket to close", 15_000, async () => this.closeCode !== undefined);
    return this.closeCode as number;
  }

  status(): Readonly<Record<string, unknown>> {
    return JSON.parse(this.heard(3).toString("utf8")) as Readonly<Record<string, unknown>>;
  }
}

/** Opens a connection, sends an upgrade request, and returns the head of the response with the bytes after it. */
export async function upgrade(
  { port }: RouteServer,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = "POST",
): Promise<{ readonly socket: Socket; readonly answer: string; readonly rest: () => Buffer }> {
  const socket = connect(port, "127.0.0.1");
  let heard = Buffer.alloc(0);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    heard = Buffer.concat([heard, chunk]);
  });
  await once(socket, "connect");
  const lines = Object.entries({ Host: "node", Connection: "Upgrade", ...headers }).map(([k, v]) => `${k}: ${v}`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  const end = () => heard.indexOf("\r\n\r\n");
  await waitUntil("an answer", 10_000, async () => end() >= 0 || socket.destroyed);
  return { socket, answer: heard.subarray(0, end()).toString("latin1"), rest: () => heard.subarray(end() + 4) };
}

export const SPDY = { Upgrade: "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io" };

export const TUNNEL = "SPDY/3.1+portforward.k8s.io";
