/**
 * What the service manager observes of a whole kubelet: which loops are watched, that each one is reported when it
 * hangs, and none while the kubelet is healthy.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compose, type Kubelet } from "../src/app/compose.ts";
import { loopsCheck, runService } from "../src/app/compose-service.ts";
import type { CompiledOptions } from "../src/app/options/compiled-options.ts";
import type { KubeletPorts } from "../src/app/wiring.ts";
import { sleep } from "../src/concurrency/sleep.ts";
import { kubeletOptions } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import { World, type WorldOptions } from "./world.ts";

const MINUTE = 60_000;

/** Calls that do what no port may: they never settle, whatever happens to their signal. */
type Hangs = Set<string>;

function hanging<T extends object>(port: T, name: string, hangs: Hangs): T {
  return new Proxy(port, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function") return member;
      const method = member as (...args: unknown[]) => unknown;
      return (...args: unknown[]) =>
        hangs.has(`${name}.${String(key)}`) ? new Promise(() => {}) : method.apply(target, args);
    },
  });
}

function hangingPorts(ports: KubeletPorts, hangs: Hangs): KubeletPorts {
  const { api } = ports;
  return {
    ...ports,
    files: hanging(ports.files, "files", hangs),
    machine: hanging(ports.machine, "machine", hangs),
    runtime: hanging(ports.runtime, "runtime", hangs),
    images: hanging(ports.images, "images", hangs),
    cgroups: (driver) => {
      const { pods, machine } = ports.cgroups(driver);
      return { pods: hanging(pods, "cgroups", hangs), machine };
    },
    api: api && { ...api, heartbeats: hanging(api.heartbeats, "heartbeats", hangs) },
  };
}

interface Given {
  readonly flags?: readonly string[];
  readonly ports?: (ports: KubeletPorts) => KubeletPorts;
  readonly options?: (options: CompiledOptions) => CompiledOptions;
  readonly world?: Partial<WorldOptions>;
}

function start({ flags = [], ports = (same) => same, options = (same) => same, world: more }: Given = {}) {
  const world = new World({ seed: 1, ...more });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  const started: { kubelet?: Kubelet } = {};
  node.start((given) => {
    started.kubelet = compose(ports(given), options(kubeletOptions("n1", ...flags)));
    return started.kubelet;
  });
  const { heartbeats } = started.kubelet ?? assert.fail("it is not there");
  /** The loops that were late at any of these minutes. */
  const lateIn = async (minutes: number) => {
    const late = new Set<string>();
    for (let minute = 0; minute < minutes; minute += 1) {
      await world.advance(MINUTE);
      for (const text of heartbeats.late()) late.add(text.replace(/ \(.*/, ""));
    }
    assert.equal(node.isRunning, true);
    return [...late].toSorted();
  };
  return { world, heartbeats, lateIn };
}

const OF_EVERY_NODE = ["image list", "node cgroups", "node usage", "runtime health", "runtime list", "sync loop"];
const ALL = [...OF_EVERY_NODE, "lease", "node status"].toSorted();

test("[1.18] every loop that the node depends on is watched from the start, and is never late during an hour", async () => {
  const { world, heartbeats, lateIn } = start();
  assert.deepEqual(heartbeats.names, ALL);
  plainPods(world).create("app", {});
  assert.deepEqual(await lateIn(60), []);
  for (const loop of ALL) assert.ok(heartbeats.lastMs(loop) !== undefined, `${loop} was never reported`);
});

test("[1.18] without an API server, no heartbeat loops are watched", async () => {
  const { heartbeats, lateIn } = start({ ports: (ports) => ({ ...ports, api: undefined }) });
  assert.deepEqual(heartbeats.names, OF_EVERY_NODE);
  assert.deepEqual(await lateIn(30), []);
});

for (const [loop, call] of [
  ["image list", "images.listImages"],
  ["lease", "heartbeats.update"],
  ["node cgroups", "cgroups.apply"],
  ["node status", "heartbeats.patch"],
  ["node usage", "machine.memoryWorkingSetBytes"],
  ["runtime health", "runtime.status"],
  ["runtime list", "runtime.listSandboxes"],
  ["sync loop", "files.appendAt"],
] as const) {
  test(`[1.18] a hanging ${loop} is reported as late, and the watchdog is not fed`, async () => {
    const hangs: Hangs = new Set();
    const flags = ["--eviction-hard=memory.available<100Mi"];
    const { world, heartbeats, lateIn } = start({ flags, ports: (ports) => hangingPorts(ports, hangs) });
    const said: string[] = [];
    const stop = new AbortController();
    const wiring = {
      manager: { notify: async (state: string) => void said.push(state) },
      watchdog: { kind: "on", everyMs: MINUTE / 2 } as const,
      clock: world.clock,
      random: world.random,
      log: { info: () => {}, error: () => {} },
    };
    const service = runService(wiring, [loopsCheck(heartbeats)], Promise.resolve(), stop.signal);
    await world.advance(2 * MINUTE);
    hangs.add(call);
    // A new pod to admit and to report.
    plainPods(world).create("app", {});
    assert.deepEqual(await lateIn(14), [loop]);
    const count = said.length;
    await world.advance(5 * MINUTE);
    assert.equal(said.length, count, "it is not fed again");
    stop.abort(new Error("enough"));
    await world.until(service);
  });
}

test("[1.18] an agent whose loops never start is reported as late after five minutes", async () => {
  const hangs: Hangs = new Set(["files.list"]);
  const { lateIn } = start({ ports: (ports) => hangingPorts(ports, hangs) });
  assert.deepEqual(await lateIn(5), []);
  assert.deepEqual(await lateIn(1), ALL);
});

test("[1.18] a node that is never registered is watched and healthy", async () => {
  assert.deepEqual(await start({ flags: ["--register-node=false"] }).lateIn(30), []);
  let refusals = 0;
  const refuses: WorldOptions["plan"] = ({ port, name, target }) => {
    if (port !== "api" || name !== "CREATE" || !target.startsWith("nodes")) return undefined;
    refusals += 1;
    return { kind: "fail", effect: "none", error: new Error("refused") };
  };
  assert.deepEqual(await start({ world: { plan: refuses } }).lateIn(30), []);
  assert.ok(refusals > 100);
});

test("[1.18] slow heartbeats that the operator configured are not late", async () => {
  const { lateIn } = start({
    options: (options) => ({
      ...options,
      node: { ...options.node, leaseDurationSeconds: 4_000, statusEveryMs: 20 * MINUTE },
    }),
  });
  assert.deepEqual(await lateIn(90), []);
});

test("[1.18] a runtime that takes the whole timeout of every call does not make loops late", async () => {
  const limitMs = 15 * MINUTE;
  const slow = <T extends object>(port: T, { clock }: KubeletPorts): T =>
    new Proxy(port, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function" || key === "events") return member;
        return async (...args: unknown[]) => {
          const signal = args.find((each) => each instanceof AbortSignal) ?? new AbortController().signal;
          await sleep(clock, limitMs, signal);
          // The version is queried first, and is answered.
          if (key !== "version") throw new Error("no answer");
          return (member as (...args: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  const { lateIn } = start({
    flags: ["--runtime-request-timeout=15m"],
    ports: (ports) => ({ ...ports, runtime: slow(ports.runtime, ports), images: slow(ports.images, ports) }),
  });
  assert.deepEqual(await lateIn(90), []);
});
