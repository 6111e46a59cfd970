import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { parseReclaims, parseSoftThresholds, parseThresholds } from "../../app/options/eviction-thresholds.ts";
import { formatQuantity } from "../../base/quantity.ts";
import { type FilesystemLayout, NO_PRESSURE, nextPressure, type Observation, type Signal } from "../node/pressure.ts";
import {
  type EvictionState,
  type EvictionThreshold,
  evaluate,
  evictionThresholds,
  isHard,
  isMet,
  isResolved,
  NO_EVICTION_STATE,
  quantityOf,
  resourceOf,
  withContainerFs,
} from "./thresholds.ts";

const DEFAULTS = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
};
const MIB = 2n ** 20n;
const GIB = 2n ** 30n;

interface Written {
  readonly hard?: Readonly<Record<string, string>>;
  readonly soft?: Readonly<Record<string, string>>;
  readonly graces?: Readonly<Record<string, string>>;
  readonly reclaims?: Readonly<Record<string, string>>;
}

const thresholdsOf = (
  { hard = {}, soft = {}, graces = {}, reclaims = {} }: Written,
  { enforcesPods = true, layout = "shared" }: { enforcesPods?: boolean; layout?: FilesystemLayout } = {},
) =>
  evictionThresholds(
    { hard: parseThresholds(hard), soft: parseSoftThresholds(soft, graces), minReclaims: parseReclaims(reclaims) },
    { enforcesPods, layout },
  );

const observed = (
  amounts: Partial<Record<Signal, readonly [available: bigint, capacity: bigint]>>,
  atMonotonicMs = 0,
) =>
  new Map(
    Object.entries(amounts).map(([signal, [available, capacity]]): [Signal, Observation] => [
      signal as Signal,
      { available, capacity, atMonotonicMs },
    ]),
  );

const show = ({ signal, value, graceMs, minReclaim }: EvictionThreshold) => {
  const text = (one: EvictionThreshold["value"]) =>
    one.kind === "amount" ? formatQuantity(one.amount) : `${one.share * 100}%`;
  const grace = graceMs === 0 ? "" : ` for ${graceMs / 1000}s`;
  return `${signal}<${text(value)}${grace}${minReclaim === undefined ? "" : ` +${text(minReclaim)}`}`;
};

void suite("thresholds", () => {
  const all = thresholdsOf({ hard: { ...DEFAULTS, "pid.available": "1k" } });
  const signalsMet = (thresholds: readonly EvictionThreshold[], observations: ReadonlyMap<Signal, Observation>) => [
    ...new Set(thresholds.filter((threshold) => isMet(threshold, observations)).map(({ signal }) => signal)),
  ];

  for (const [signal, available, capacity, want] of [
    ["memory.available", 100n * MIB, 8192n * MIB, false],
    ["memory.available", 100n * MIB - 1n, 8192n * MIB, true],
    ["nodefs.available", 10n, 100n, false],
    ["nodefs.available", 9n, 100n, true],
    ["nodefs.inodesFree", 49n, 1000n, true],
    ["imagefs.available", 150n, 1000n, false],
    ["imagefs.available", 149n, 1000n, true],
    ["imagefs.inodesFree", 50n, 1000n, false],
    ["pid.available", 999n, 32_768n, true],
    ["pid.available", 1000n, 32_768n, false],
  ] as const) {
    test(`[17.2] ${signal} of ${available} out of ${capacity} ${want ? "meets" : "does not meet"} the threshold`, () => {
      assert.deepEqual(signalsMet(all, observed({ [signal]: [available, capacity] })), want ? [signal] : []);
    });
  }

  test("[17.2] a percentage is computed in single precision, as by the Go kubelet", () => {
    // float32(15)/100 is a little more than 0.15, and so are the others.
    const short = (percent: string, available: bigint) =>
      signalsMet(
        thresholdsOf({ hard: { "nodefs.available": percent } }),
        observed({ "nodefs.available": [available, 10n ** 12n] }),
      ).length === 1;
    for (const [percent, amount] of [
      ["15%", 150_000_005_960n],
      ["10%", 100_000_001_490n],
      ["5%", 50_000_000_745n],
      ["0.1%", 1_000_000_047n],
    ] as const) {
      assert.deepEqual([short(percent, amount), short(percent, amount - 1n)], [false, true], percent);
    }
  });

  test("[17.2] 0% and 100% disable a threshold", () => {
    assert.equal(parseThresholds({ "nodefs.available": "0%", "imagefs.available": "100%" }).length, 0);
  });

  test("[17.2] the threshold of memory.available also applies to allocatableMemory.available", () => {
    const observations = observed({ "allocatableMemory.available": [100n * MIB - 1n, 8192n * MIB] });
    assert.deepEqual(signalsMet(all, observations), ["allocatableMemory.available"]);
  });

  test("[17.8] each pressure condition lasts for the transition period after it was last observed", () => {
    const hold = (nowMs: number) => ({ nowMs, holdMs: 300_000 });
    const first = nextPressure({ pressure: NO_PRESSURE, lastSeenMs: {} }, ["memory.available"], hold(0));
    assert.deepEqual(first.pressure, { memory: true, disk: false, pid: false });
    const second = nextPressure(first, ["imagefs.inodesFree"], hold(10_000));
    assert.deepEqual(second.pressure, { memory: true, disk: true, pid: false });
    const third = nextPressure(second, [], hold(299_999));
    assert.deepEqual(third.pressure, { memory: true, disk: true, pid: false });
    const fourth = nextPressure(third, ["pid.available"], hold(300_000));
    assert.deepEqual(fourth.pressure, { memory: false, disk: true, pid: true });
    assert.deepEqual(nextPressure(fourth, [], hold(310_000)).pressure, { memory: false, disk: false, pid: true });
  });
});

void suite("the list of thresholds", () => {
  const written: Written = {
    hard: { "memory.available": "100Mi", "nodefs.available": "10%", "imagefs.available": "15%" },
    soft: { "memory.available": "1Gi", "nodefs.available": "20%" },
    graces: { "memory.available": "90s", "nodefs.available": "2m" },
    reclaims: { "memory.available": "50Mi", "imagefs.available": "5%" },
  };

  test("[17.2] [17.3] hard thresholds come before soft ones, each with its minimum reclaim", () => {
    assert.deepEqual(thresholdsOf(written, { enforcesPods: false }).slice(0, 5).map(show), [
      "memory.available<100Mi +50Mi",
      "nodefs.available<10%",
      "imagefs.available<15% +5%",
      "memory.available<1Gi for 90s +50Mi",
      "nodefs.available<20% for 120s",
    ]);
  });

  test("[17.2] allocatableMemory.available copies only the hard memory threshold, and only if pods are enforced", () => {
    const copies = (enforcesPods: boolean) =>
      thresholdsOf(written, { enforcesPods }).filter(({ signal }) => signal === "allocatableMemory.available");
    assert.deepEqual(copies(true).map(show), ["allocatableMemory.available<100Mi +50Mi"]);
    assert.deepEqual(copies(false), []);
  });

  for (const [layout, wanted] of [
    ["shared", ["containerfs.available<10%", "containerfs.available<20% for 120s"]],
    ["split", ["containerfs.available<10%", "containerfs.available<20% for 120s"]],
    ["imagefs", ["containerfs.available<15% +5%"]],
  ] as const) {
    test(`[17.2] containerfs thresholds follow the layout ${layout}; a written one is ignored`, () => {
      const hard = { ...written.hard, "containerfs.available": "99%" };
      const list = thresholdsOf({ ...written, hard }, { layout });
      assert.deepEqual(list.filter(({ signal }) => signal.startsWith("containerfs.")).map(show), wanted);
    });
  }

  test("[17.2] containerfs is measured on nodefs, or on imagefs if writable layers are there", () => {
    const observations = observed({ "nodefs.available": [1n, 10n], "imagefs.available": [2n, 10n] });
    for (const [layout, available] of [
      ["shared", 1n],
      ["split", 1n],
      ["imagefs", 2n],
    ] as const) {
      assert.equal(withContainerFs(observations, layout).get("containerfs.available")?.available, available, layout);
      assert.equal(withContainerFs(observations, layout).has("containerfs.inodesFree"), false);
    }
  });

  test("[9.13] in the layout split, containerfs is what was measured there", () => {
    const measured = observed({ "nodefs.available": [1n, 10n], "containerfs.available": [3n, 10n] });
    const available = (layout: FilesystemLayout) =>
      withContainerFs(measured, layout).get("containerfs.available")?.available;
    assert.equal(available("split"), 3n);
    assert.equal(available("shared"), 1n);
    assert.equal(available("imagefs"), undefined, "imagefs was not measured");
  });
});

void suite("evaluate", () => {
  const HOLD_MS = 300_000;
  const memory = (available: bigint, atMs: number) => observed({ "memory.available": [available, 8n * GIB] }, atMs);
  const run = (thresholds: readonly EvictionThreshold[]) => {
    let state: EvictionState = NO_EVICTION_STATE;
    return (observations: ReadonlyMap<Signal, Observation>, nowMs: number) => {
      const evaluation = evaluate(state, observations, { thresholds, nowMs, holdMs: HOLD_MS });
      state = evaluation.state;
      return { met: evaluation.met.map(show), pressure: evaluation.pressure };
    };
  };

  test("[17.3] a soft threshold sets the condition at once and evicts once its grace period has passed", () => {
    const step = run(thresholdsOf({ soft: { "memory.available": "1Gi" }, graces: { "memory.available": "30s" } }));
    assert.deepEqual(step(memory(GIB - 1n, 0), 0), { met: [], pressure: { memory: true, disk: false, pid: false } });
    assert.deepEqual(step(memory(GIB - 1n, 29_000), 29_999).met, []);
    assert.deepEqual(step(memory(GIB - 1n, 30_000), 30_000).met, ["memory.available<1Gi for 30s"]);
  });

  test("[17.3] the grace period starts again after a recovery and after a failed measurement", () => {
    const grace = { soft: { "memory.available": "1Gi" }, graces: { "memory.available": "30s" } };
    for (const interruption of [memory(GIB, 20_000), observed({})]) {
      const step = run(thresholdsOf(grace));
      step(memory(0n, 0), 0);
      step(interruption, 20_000);
      assert.deepEqual(step(memory(0n, 30_000), 30_000).met, []);
      assert.deepEqual(step(memory(0n, 59_999), 59_999).met, []);
      assert.deepEqual(step(memory(0n, 60_000), 60_000).met, ["memory.available<1Gi for 30s"]);
    }
  });

  test("[17.3] a threshold stays met until the minimum reclaim is available", () => {
    const step = run(
      thresholdsOf(
        { hard: { "memory.available": "100Mi" }, reclaims: { "memory.available": "50Mi" } },
        { enforcesPods: false },
      ),
    );
    assert.deepEqual(step(memory(120n * MIB, 0), 0).met, [], "it was never met");
    assert.deepEqual(step(memory(99n * MIB, 1), 1).met.length, 1);
    assert.deepEqual(step(memory(149n * MIB, 2), 2).met, ["memory.available<100Mi +50Mi"]);
    assert.deepEqual(step(memory(150n * MIB, 3), 3).met, []);
    assert.deepEqual(step(memory(149n * MIB, 4), 4).met, [], "resolved until it is met again");
  });

  test("[17.9] one measurement evicts once", () => {
    const step = run(thresholdsOf({ hard: { "memory.available": "100Mi" } }, { enforcesPods: false }));
    assert.equal(step(memory(0n, 5), 10).met.length, 1);
    assert.deepEqual(step(memory(0n, 5), 20), { met: [], pressure: { memory: true, disk: false, pid: false } });
    assert.equal(step(memory(0n, 21), 30).met.length, 1);
  });

  test("[17.5] memory comes before other resources, and hard thresholds before soft ones", () => {
    const step = run(
      thresholdsOf({
        hard: { "pid.available": "10", "nodefs.available": "10%", "memory.available": "100Mi" },
        soft: { "memory.available": "1Gi", "imagefs.available": "20%" },
        graces: { "memory.available": "0s", "imagefs.available": "1ms" },
      }),
    );
    const short = observed({
      "memory.available": [0n, GIB],
      "allocatableMemory.available": [0n, GIB],
      "pid.available": [0n, 100n],
      "imagefs.available": [0n, 100n],
      "nodefs.available": [0n, 100n],
    });
    step(short, 0);
    const again = new Map(
      [...short].map(([signal, one]): [Signal, Observation] => [signal, { ...one, atMonotonicMs: 1 }]),
    );
    assert.deepEqual(step(again, 1).met, [
      "memory.available<100Mi",
      "memory.available<1Gi",
      "allocatableMemory.available<100Mi",
      "allocatableMemory.available<1Gi",
      "pid.available<10",
      "nodefs.available<10%",
      "imagefs.available<20% for 0.001s",
    ]);
  });

  test("[17.2] [17.3] no resolved threshold is met, and every hard threshold below its value is", () => {
    const thresholds = thresholdsOf({
      hard: { ...DEFAULTS, "pid.available": "10" },
      soft: { "memory.available": "1Gi", "nodefs.available": "30%" },
      graces: { "memory.available": "30s", "nodefs.available": "1m" },
      reclaims: { "memory.available": "50Mi", "nodefs.available": "5%" },
    });
    const signal = fc.constantFrom(...new Set(thresholds.map((one) => one.signal)));
    const round = fc.record({
      seconds: fc.integer({ min: 1, max: 40 }),
      amounts: fc.dictionary(signal, fc.bigInt({ min: 0n, max: 2n * GIB })),
    });
    const property = fc.property(fc.array(round, { maxLength: 12 }), (rounds) => {
      let [state, nowMs] = [NO_EVICTION_STATE, 0];
      for (const { seconds, amounts } of rounds) {
        nowMs += seconds * 1000;
        const before = state;
        const seen = observed(
          Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, [amount, 2n * GIB] as const])),
          nowMs,
        );
        const evaluation = evaluate(before, seen, { thresholds, nowMs, holdMs: HOLD_MS });
        state = evaluation.state;
        for (const threshold of thresholds) {
          const met = evaluation.met.some((one) => show(one) === show(threshold));
          if (met) assert.ok(!isResolved(threshold, seen));
          if (isMet(threshold, seen) && isHard(threshold)) assert.ok(met, show(threshold));
        }
      }
    });
    fc.assert(property);
  });
});

test("[17.6] every signal names the resource of its message, and the amount of a percentage has a binary suffix", () => {
  const [threshold] = thresholdsOf({ hard: { "nodefs.inodesFree": "5%" } });
  assert.ok(threshold !== undefined);
  assert.equal(resourceOf(threshold.signal), "inodes");
  assert.equal(
    formatQuantity(quantityOf(threshold, { available: 0n, capacity: 1_310_720n, atMonotonicMs: 0 })),
    "64Ki",
  );
});
