/**
 * Measures how fast the agent itself serves a log over TLS (B14): lines of 100 bytes and of 1 kB, the whole log and its
 * last thousand lines. The client is this process for both agents; the client's own speed limits both.
 */
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { pods } from "../../src/api/resources.ts";
import { BUSYBOX_IMAGE } from "../../test/cluster/images.ts";
import { waitUntil } from "../../test/cluster/wait.ts";
import type { Figure } from "../candidates.ts";
import { kubeletDriver, podBy } from "../kubelet-driver.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import { isReady } from "../pod-watcher.ts";
import type { Size } from "../sizes.ts";
import { median } from "../statistics.ts";
import { processCpuMs } from "../usage.ts";
import { forever, type World } from "../world.ts";

const NODE_PORT = 10250;
const WRITE_LIMIT_MS = 120_000;
/** The figures quote how much log text is returned, not how much of the log file is read. */
const LINES = [
  { title: "lines of 100 bytes", lineBytes: 100 },
  { title: "lines of 1 kB", lineBytes: 1_000 },
] as const;

/** Stops the agent of the stage, starts one that does not rotate logs, and stops that one too. */
export async function logs({ world, driver: before, label }: Stage, size: Size): Promise<Outcome> {
  if (before.agent === undefined) throw new Error("only an agent serves logs");
  await before.agent.stop();
  const { certFile, keyFile } = await world.cluster.api.clientCertificate("bench-reader", ["system:masters"]);
  const settings = { containerLogMaxSize: "-1", tlsCertFile: certFile, tlsPrivateKeyFile: keyFile };
  const agent = await world.startAgent(before.agent.name, settings);
  const driver = kubeletDriver(world, agent);
  const connections = new Agent({
    keepAlive: true,
    rejectUnauthorized: false,
    cert: await readFile(certFile),
    key: await readFile(keyFile),
  });
  const figures: Figure[] = [];
  try {
    for (const { title, lineBytes } of LINES) {
      const name = `${label}-logs-${lineBytes}`;
      await writeLog(world, name, { lineBytes, lines: Math.ceil(size.logBytes / lineBytes) });
      figures.push(...(await readings({ world, connections, name }, agent.pid, title, size)));
      await driver.down(name);
    }
  } finally {
    connections.destroy();
    await driver.end();
  }
  return { figures };
}

async function writeLog(
  world: World,
  name: string,
  { lineBytes, lines }: { readonly lineBytes: number; readonly lines: number },
): Promise<void> {
  const text = "x".repeat(lineBytes - 1);
  const script = `yes ${text} | head -n ${lines}; exec sleep 1000000`;
  const containers = [{ name: "app", image: BUSYBOX_IMAGE, command: ["sh", "-c", script] }];
  const ready = world.watcher.when(name, "ready", isReady);
  const pod = podBy(world, name, { terminationGracePeriodSeconds: 1, containers });
  const [made] = await Promise.all([world.api.create(pods, pod, forever), ready]);
  const directory = `/var/log/pods/${world.namespace}_${name}_${made.metadata?.uid ?? ""}/app`;
  const file = world.node.inside(join(directory, "0.log"));
  const written = async () => (await readFile(file)).filter((byte) => byte === 0x0a).length;
  await waitUntil("its lines", WRITE_LIMIT_MS, async () => (await written()) >= lines, 500);
}

interface Reading {
  readonly world: World;
  readonly connections: Agent;
  readonly name: string;
}

async function readings(reading: Reading, pid: number, title: string, size: Size): Promise<readonly Figure[]> {
  const wholeMs: number[] = [];
  const tailMs: number[] = [];
  await read(reading, ""); // Warms up the connection, page cache and compiler.
  for (let turn = 0; turn < size.logReads; turn += 1) {
    wholeMs.push((await read(reading, "")).ms);
    tailMs.push((await read(reading, "?tailLines=1000")).ms);
  }
  const cpuBeforeMs = await processCpuMs(pid);
  for (let turn = 0; turn < size.logReads; turn += 1) await read(reading, "");
  const cpuMs = (await processCpuMs(pid)) - cpuBeforeMs;
  const { bytes } = await read(reading, "");
  return [
    {
      benchmark: "B14",
      name: `${title}, per 10 MB`,
      unit: "ms",
      value: (median(wholeMs) * 1e7) / bytes,
      samples: wholeMs,
    },
    {
      benchmark: "B14",
      name: `${title}, agent's CPU per 10 MB`,
      unit: "CPU-ms",
      value: ((cpuMs / size.logReads) * 1e7) / bytes,
    },
    { benchmark: "B14", name: `${title}, last 1000`, unit: "ms", value: median(tailMs), samples: tailMs },
  ];
}

function read(
  { world, connections, name }: Reading,
  query: string,
): Promise<{ readonly ms: number; readonly bytes: number }> {
  const path = `/containerLogs/${world.namespace}/${name}/app${query}`;
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request({ host: world.node.address, port: NODE_PORT, path, agent: connections }, (response) => {
      let bytes = 0;
      response.on("data", (part: Buffer) => {
        bytes += part.length;
      });
      response.on("end", () => {
        if (response.statusCode === 200) resolve({ ms: performance.now() - startMs, bytes });
        else reject(new Error(`${path} is answered with ${response.statusCode}`));
      });
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end();
  });
}
