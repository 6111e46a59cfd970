/**
 * The cost of hostile pods for the other pods of the node: pods beside hostile ones start, are probed and return logs
 * as fast as beside ordinary ones. Two nodes of one cluster take turns, so that the control plane, which shares the
 * cores, burdens both alike.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import type { ClusterNode } from "../../cluster/cluster.ts";
import { figure } from "../../figures.ts";
import { ask } from "../../integration/node-metrics/scrape.ts";
import { wholeSize } from "../../size.ts";
import { HostileWorld, probedOn } from "../../support/hostile-world.ts";

/** Rounds on each node. */
const ROUNDS = wholeSize() ? 100 : 30;
/** A pod is probed once a second, and on a fast machine the rounds take less than a second each. */
const PROBES_MIN = 20;
const LONG_NAME = "image";

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

suite("hostile pods", () => {
  let world: HostileWorld;

  before(async () => {
    world = await HostileWorld.start(2);
    for (const node of world.cluster.nodes) await world.startProbed(node);
  });

  after(() => world.down());

  const logs = async (node: ClusterNode) => {
    const beginMs = performance.now();
    const { status } = await ask(world.cluster, node, `/containerLogs/default/${probedOn(node)}/app`);
    assert.equal(status, 200);
    return performance.now() - beginMs;
  };

  const starts = async (name: string, node: ClusterNode) => {
    const beginMs = performance.now();
    await world.create(world.podOf(name, {}, {}, node));
    await world.runs(name);
    const tookMs = performance.now() - beginMs;
    await world.delete(name);
    return tookMs;
  };

  /** Measurements of one node, in milliseconds. */
  class Measured {
    readonly node: ClusterNode;
    readonly start: number[] = [];
    readonly log: number[] = [];
    #probes = { count: 0, totalMs: 0 };
    #cpuMs = 0;

    constructor(node: ClusterNode) {
      this.node = node;
    }

    async begin(): Promise<void> {
      this.#probes = await world.probesOf(probedOn(this.node), this.node);
      this.#cpuMs = await world.agentCpuMs(this.node);
    }

    async round(name: string): Promise<void> {
      this.start.push(await starts(`${name}-${this.node.name}`, this.node));
      this.log.push(await logs(this.node));
    }

    async end() {
      const { count, totalMs } = await world.probesOf(probedOn(this.node), this.node);
      return {
        start: median(this.start),
        log: median(this.log),
        probe: (totalMs - this.#probes.totalMs) / (count - this.#probes.count),
        cpu: ((await world.agentCpuMs(this.node)) - this.#cpuMs) / this.start.length,
      };
    }
  }

  test("pods beside hostile ones start, are probed and show their logs as fast as beside ordinary ones", async () => {
    const many = (make: (name: string) => Pod, name: string, count: number) =>
      Array.from({ length: count }, (_, index) => make(`${name}-${index}`));
    const [first, second] = world.cluster.nodes;
    assert.ok(first === world.node && second !== undefined);
    const ordinary = many((name) => world.podOf(name, {}, {}, second), "ordinary", 12);
    const hostile = [
      world.longName(LONG_NAME),
      world.endlessGrpc("grpc"),
      ...many((name) => world.trickle(name), "trickle", 10),
    ];
    for (const pod of [...ordinary, ...hostile]) await world.create(pod);
    for (const { metadata } of [...ordinary, ...hostile])
      if (metadata?.name !== LONG_NAME) await world.runs(metadata?.name ?? "");
    const warm = world.cluster.nodes.map((node) => new Measured(node));
    for (let index = 0; index < 10; index += 1) for (const node of warm) await node.round(`warm-${index}`);
    const beginSeconds = await world.lastProbeSeconds();
    const [beside, without] = [new Measured(first), new Measured(second)];
    for (const node of [beside, without]) await node.begin();
    // The nodes take turns, because the machine's speed changes by the minute.
    for (let index = 0; index < ROUNDS; index += 1) {
      for (const node of index % 2 === 0 ? [beside, without] : [without, beside]) await node.round(`round-${index}`);
    }
    const [hostileMs, ordinaryMs] = [await beside.end(), await without.end()];
    await world.assertProbedSince(beginSeconds, PROBES_MIN);
    for (const what of ["start", "log", "probe", "cpu"] as const) {
      figure(`${what}: beside ordinary pods`, Math.round(ordinaryMs[what]), "ms");
      figure(`${what}: beside hostile pods`, Math.round(hostileMs[what]), "ms");
    }
    for (const what of ["start", "log", "probe"] as const) {
      const limitMs = Math.max(1.1 * ordinaryMs[what], ordinaryMs[what] + 20);
      assert.ok(
        hostileMs[what] <= limitMs,
        `${what}: ${hostileMs[what]} ms, ${ordinaryMs[what]} ms beside ordinary pods`,
      );
    }
    for (const { metadata } of [...ordinary, ...hostile]) await world.delete(metadata?.name ?? "");
  });
});
