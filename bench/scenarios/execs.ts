/**
 * Measures the time from the request to the exit of `true` in a running container (B13): through the node's own `/run`,
 * and through the API server over the WebSocket that kubectl opens, sequentially and many at once. Bare is the single
 * CRI call that this needs.
 */
import { readFile } from "node:fs/promises";
import { type RequestOptions, request } from "node:https";
import type { Socket } from "node:net";
import { webSocket } from "../../test/support/websocket-client.ts";
import type { Figure } from "../candidates.ts";
import { Collector } from "../collector.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import type { Size } from "../sizes.ts";
import { quantile } from "../statistics.ts";
import { forever, type World } from "../world.ts";

const TIMEOUT_SECONDS = 60;
const SWITCHED = 101;
/** The channel that carries the command's exit status. */
const STATUS_CHANNEL = 3;

/** Deckhand limits a pod to 16 streams, so concurrent execs are spread over several pods. */
const EXECS_PER_POD = 10;

/** Resolves when the command has succeeded. */
type Exec = () => Promise<void>;

export async function execs({ world, driver, label }: Stage, size: Size): Promise<Outcome> {
  const count = Math.ceil(size.execsAtOnce / EXECS_PER_POD);
  const names = Array.from({ length: count }, (_, index) => `${label}-execs-${index}`);
  for (const name of names) {
    const connected = world.exitTrigger.next();
    await driver.up(name, "triggered");
    await connected;
  }
  const figures: Figure[] = [];
  if (driver.agent === undefined) {
    const exec = roundRobin(await atRuntime(world, count));
    for (const title of ["at the node", "through the API server"]) figures.push(...(await measured(title, exec, size)));
  } else {
    using collector = await Collector.of(world);
    const atNode = names.map((name) => async () => {
      await collector.ask(`/run/${world.namespace}/${name}/app?cmd=true`, "POST");
    });
    figures.push(...(await measured("at the node", roundRobin(atNode), size)));
    const streams = await Promise.all(names.map((name) => byWebSocket(world, name)));
    figures.push(...(await measured("through the API server", roundRobin(streams), size)));
  }
  for (const name of names) await driver.down(name);
  await driver.tidy();
  return { figures };
}

function roundRobin(each: readonly Exec[]): Exec {
  let turn = 0;
  return async () => {
    turn += 1;
    await each[turn % each.length]?.();
  };
}

async function measured(title: string, exec: Exec, { execs: count, execsAtOnce }: Size): Promise<readonly Figure[]> {
  const timed = async (run: Exec) => {
    const sinceMs = performance.now();
    await run();
    return performance.now() - sinceMs;
  };
  const crowd = async () => void (await Promise.all(Array.from({ length: execsAtOnce }, exec)));
  // The first execs open connections and warm up the compiler.
  await crowd();
  const samples: number[] = [];
  for (let turn = 0; turn < count; turn += 1) samples.push(await timed(exec));
  const figure = (name: string, value: number): Figure => ({
    benchmark: "B13",
    name: `${title}${name}`,
    unit: "ms",
    value,
    samples,
  });
  return [
    figure(" p50", quantile(samples, 0.5)),
    figure(" p99", quantile(samples, 0.99)),
    { ...figure(`, last of ${execsAtOnce} at once`, await timed(crowd)), samples: [] },
  ];
}

async function atRuntime({ cri: { runtime } }: World, count: number): Promise<readonly Exec[]> {
  const running = (await runtime.listContainers({}, forever)).filter(({ state }) => state === "running");
  if (running.length !== count) throw new Error(`${running.length} containers run, not ${count}`);
  return running.map(({ id }) => async () => {
    const { exitCode } = await runtime.execSync(id, ["true"], TIMEOUT_SECONDS, forever);
    if (exitCode !== 0) throw new Error(`true ended with ${exitCode}`);
  });
}

async function byWebSocket({ cluster, namespace }: World, pod: string): Promise<Exec> {
  const { url, caFile, adminCertFile, adminKeyFile } = cluster.api;
  const [ca, cert, key] = await Promise.all([caFile, adminCertFile, adminKeyFile].map((file) => readFile(file)));
  const { hostname: host, port } = new URL(url);
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/exec?container=app&command=true&stdout=true&stderr=true`;
  const headers = { Connection: "Upgrade", ...webSocket("v5.channel.k8s.io") };
  const options: RequestOptions = { host, port, path, headers, agent: false };
  return () => endOfStream({ ...options, ...(ca && cert && key ? { ca, cert, key } : {}) });
}

function endOfStream(options: RequestOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = request(options, (response) => reject(new Error(`not switched: ${response.statusCode}`)));
    call.on("error", reject);
    call.on("upgrade", ({ statusCode }, socket, head) => {
      if (statusCode === SWITCHED) statusOf(socket, head).then(resolve, reject);
      else reject(new Error(`switched with ${statusCode}`));
    });
    call.end();
  });
}

/** Reads what the API server sends until it reports the command's status. */
function statusOf(socket: Socket, head: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let unread = head;
    const look = () => {
      for (let frame = firstFrame(unread); frame !== undefined; frame = firstFrame(unread)) {
        unread = frame.rest;
        if (frame.payload[0] !== STATUS_CHANNEL) continue;
        const { status } = JSON.parse(frame.payload.subarray(1).toString()) as { readonly status?: string };
        if (status === "Success") resolve();
        else reject(new Error(`true has not ended well: ${frame.payload.toString()}`));
        socket.destroy();
        return;
      }
    };
    socket.on("data", (part: Buffer) => {
      unread = Buffer.concat([unread, part]);
      look();
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("closed before it reported how the command ended")));
    look();
  });
}

/** Frames of a server are not masked, and status frames are short. */
function firstFrame(bytes: Buffer): { readonly payload: Buffer; readonly rest: Buffer } | undefined {
  if (bytes.length < 2) return undefined;
  const short = (bytes[1] ?? 0) & 0x7f;
  if (short === 127) throw new Error("a frame of more than 64 kB");
  const start = short === 126 ? 4 : 2;
  if (bytes.length < start) return undefined;
  const end = start + (short === 126 ? bytes.readUInt16BE(2) : short);
  return bytes.length < end ? undefined : { payload: bytes.subarray(start, end), rest: bytes.subarray(end) };
}
