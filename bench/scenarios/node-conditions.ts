/**
 * Measures the time from a trouble of the node to its condition in a watch, and from its end to the condition's (B19):
 * the runtime without a network configuration, a shortage of memory, a full disk, and a runtime that is stopped. The
 * threshold of memory lies just below what is available, so that little has to be allocated. The disk is a file system
 * of its own, on a loop device at the agent's root directory.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Node } from "../../src/api/gen/core-v1.ts";
import { nodes } from "../../src/api/resources.ts";
import type { Summary } from "../../src/domain/stats/summary-shape.ts";
import { command } from "../../test/cluster/command.ts";
import { pause, waitUntil } from "../../test/cluster/wait.ts";
import type { Figure } from "../candidates.ts";
import { Collector } from "../collector.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import type { Size } from "../sizes.ts";
import { median } from "../statistics.ts";
import { type Agent, forever, type World } from "../world.ts";

const MIB = 2 ** 20;
/** Between the memory that is available at first and the threshold: other processes use some, too. */
const ABOVE_THRESHOLD_BYTES = 512 * MIB;
const ALLOCATED_BYTES = 1_024 * MIB;
const DISK_BYTES = 256 * MIB;
const DISK_THRESHOLD_BYTES = 96 * MIB;
const FILLED_BYTES = 176 * MIB;
/** The shortest period that counts: the Go kubelet replaces 0 by its default. It is part of the time of a recovery. */
const TRANSITION = "1s";
/** Changes begin at random moments within an interval of the Go kubelet, so that they do not align with a poll. */
const INTERVAL_MS = 10_000;
const LIMIT_MS = 120_000;

type Condition = "Ready" | "MemoryPressure" | "DiskPressure";

interface Trouble {
  readonly title: string;
  readonly condition: Condition;
  readonly begin: () => Promise<unknown>;
  readonly end: () => Promise<unknown>;
}

/** Stops the agent of the stage and leaves none running. */
export async function nodeConditions({ world, driver }: Stage, size: Size): Promise<Outcome> {
  const { agent } = driver;
  if (agent === undefined) throw new Error("only an agent reports conditions");
  await agent.stop();
  const disk = await mountDisk(world, agent.rootDirectory);
  try {
    const availableBytes = await during(await world.startAgent(agent.name), () => memoryAvailable(world));
    const configuration = {
      evictionHard: {
        "memory.available": String(availableBytes - ABOVE_THRESHOLD_BYTES),
        "nodefs.available": String(DISK_THRESHOLD_BYTES),
      },
      evictionPressureTransitionPeriod: TRANSITION,
    };
    const again = await world.startAgent(agent.name, configuration);
    const figures = await during(again, async () => {
      await reported(world, again);
      await pause(size.settleMs);
      const all: Figure[] = [];
      for (const trouble of troublesOf(world, agent.rootDirectory)) {
        all.push(...(await measured(world, trouble, size.conditionChanges)));
      }
      return all;
    });
    return { figures };
  } finally {
    await disk.unmount();
  }
}

/** Stops the agent afterwards. */
async function during<T>(agent: Agent, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } finally {
    await agent.stop();
  }
}

function troublesOf(world: World, rootDirectory: string): readonly Trouble[] {
  const network = join(world.node.directory, "cni", "10-bridge.conflist");
  const filler = world.node.inside(join(rootDirectory, "filler"));
  let holder: ChildProcess | undefined;
  return [
    {
      title: "network configuration removed",
      condition: "Ready",
      begin: () => rename(network, `${network}.removed`),
      end: () => rename(`${network}.removed`, network),
    },
    {
      title: "memory allocated",
      condition: "MemoryPressure",
      begin: async () => {
        const holding = `globalThis.held = Buffer.alloc(${ALLOCATED_BYTES}, 1); setInterval(() => {}, 1000);`;
        holder = spawn(process.execPath, ["-e", holding], { stdio: "ignore" });
        await once(holder, "spawn");
      },
      end: async () => void holder?.kill("SIGKILL"),
    },
    {
      title: "disk filled",
      condition: "DiskPressure",
      begin: () => writeFile(filler, Buffer.alloc(FILLED_BYTES, 1)),
      end: () => rm(filler),
    },
    {
      title: "runtime stopped",
      condition: "Ready",
      begin: () => world.stopRuntime(),
      end: () => world.startRuntime(),
    },
  ];
}

async function measured(world: World, { title, condition, begin, end }: Trouble, times: number): Promise<Figure[]> {
  const [bad, good] = condition === "Ready" ? ["False", "True"] : ["True", "False"];
  const begun: number[] = [];
  const ended: number[] = [];
  for (let round = 0; round < times; round += 1) {
    await pause(Math.random() * INTERVAL_MS);
    const untilBad = untilStatus(world, condition, bad, begin);
    begun.push(
      await untilBad.catch(async (error: unknown) => {
        await end();
        throw error;
      }),
    );
    await pause(Math.random() * INTERVAL_MS);
    ended.push(await untilStatus(world, condition, good, end));
  }
  const shown = condition === "Ready" ? "NotReady" : condition;
  const figure = (name: string, samples: readonly number[]): Figure => {
    return { benchmark: "B19", name, unit: "ms", value: median(samples), samples };
  };
  return [figure(`${title} to ${shown}`, begun), figure(`${title}: end to no ${shown}`, ended)];
}

/** Makes the change once a watch has listed the node. Resolves with the time from the change to the status. */
async function untilStatus(
  world: World,
  condition: Condition,
  status: string,
  change: () => Promise<unknown>,
): Promise<number> {
  const stop = new AbortController();
  const limit = setTimeout(() => {
    stop.abort(new Error(`${condition} of ${world.node.name} was not ${status} within ${LIMIT_MS} ms`));
  }, LIMIT_MS);
  let changed: { readonly sinceMs: number; readonly made: Promise<unknown> } | undefined;
  try {
    const selection = { fields: `metadata.name=${world.node.name}` };
    for await (const event of world.api.watch(nodes, selection, { kind: "initialEvents" }, stop.signal)) {
      if (event.kind === "bookmark") {
        if (event.initialEventsEnd) changed = { sinceMs: performance.now(), made: change() };
      } else if (statusOf(event.object, condition) === status) {
        if (changed === undefined) throw new Error(`${condition} is ${status} before anything has changed`);
        const tookMs = performance.now() - changed.sinceMs;
        await changed.made;
        return tookMs;
      }
    }
  } finally {
    clearTimeout(limit);
    stop.abort(new Error("the node was watched"));
  }
  throw new Error(`the watch ended before ${condition} was ${status}`);
}

const statusOf = ({ status }: Node, condition: Condition) =>
  status?.conditions?.find(({ type }) => type === condition)?.status;

/** As the agent that runs measures it. */
async function memoryAvailable(world: World): Promise<number> {
  using collector = await Collector.of(world);
  let availableBytes: number | undefined;
  await waitUntil("available memory in the stats summary", LIMIT_MS, async () => {
    const { body } = await collector.ask("/stats/summary");
    availableBytes = (JSON.parse(body.toString()) as Pick<Summary, "node">).node.memory?.availableBytes;
    return availableBytes !== undefined;
  });
  return availableBytes ?? 0;
}

/** The agent has reported a node without troubles. */
async function reported({ api, node: { name } }: World, { launchedMs }: Agent): Promise<void> {
  // The time of a heartbeat has a resolution of one second.
  const sinceWallMs = Math.floor((Date.now() - (performance.now() - launchedMs)) / 1_000) * 1_000;
  await waitUntil(`${name} to be ready`, LIMIT_MS, async () => {
    const node = await api.get(nodes, { name }, forever);
    const heartbeat = node.status?.conditions?.find(({ type }) => type === "Ready")?.lastHeartbeatTime ?? "";
    const wanted = { Ready: "True", MemoryPressure: "False", DiskPressure: "False" } as const;
    const isWell = (Object.keys(wanted) as Condition[]).every((type) => statusOf(node, type) === wanted[type]);
    return isWell && Date.parse(heartbeat) >= sinceWallMs;
  });
}

async function mountDisk({ node }: World, directory: string): Promise<{ readonly unmount: () => Promise<void> }> {
  const image = join(node.directory, "disk.img");
  const run = async (...args: readonly string[]) => {
    const { code, stderr } = await node.run(...args);
    if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
  };
  await command("truncate", [`--size=${DISK_BYTES}`, image]);
  await command("mkfs.ext4", ["-q", "-m", "0", image]);
  await run("mkdir", "-p", directory);
  await run("mount", "-o", "loop", image, directory);
  return {
    unmount: async () => {
      await run("umount", directory);
      await rm(image);
    },
  };
}
