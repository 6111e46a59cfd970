/**
 * 300 sequences of measurements with random thresholds, drawn from a seed. `rounds.jsonl` contains what the Go kubelet
 * decides in each round: the node's conditions, and the thresholds that pods are evicted for.
 */
import type { FilesystemLayout, Signal } from "../../../src/domain/node/pressure.ts";
import { type Draw, seededDraw } from "../../support/random-pods.ts";

type Written = Readonly<Record<string, string>>;

interface Measured {
  readonly available: number;
  readonly capacity: number;
  readonly atMs: number;
}

export interface EvictionSequence {
  readonly hard: Written;
  readonly soft: Written;
  readonly graces: Written;
  readonly reclaims: Written;
  /** Values of enforceNodeAllocatable. */
  readonly allocatable: readonly string[];
  readonly layout: FilesystemLayout;
  readonly holdMs: number;
  readonly rounds: readonly {
    readonly nowMs: number;
    readonly observations: Readonly<Partial<Record<Signal, Measured>>>;
  }[];
}

/** Of one round: types of conditions, and "<signal> <grace period>", each in lexical order. */
export interface RoundAnswer {
  readonly conditions: readonly string[];
  readonly met: readonly string[];
}

export const EVICTION_ROUNDS = "eviction/rounds.jsonl";

const COUNT = 300;
const ROUNDS = 8;
const SEED = 17_020_303;

/** Without containerfs: what the Go kubelet does with written thresholds of it differs by the order of its maps. */
const WRITTEN = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const;
const MEASURED: readonly Signal[] = [
  ...WRITTEN,
  "allocatableMemory.available",
  "containerfs.available",
  "containerfs.inodesFree",
];
const VALUES = ["100", "0.5k", "5%", "12.5%", "33.3%", "1k"] as const;
const AMOUNTS = [0, 49, 50, 99, 100, 125, 333, 334, 499, 500, 999, 1000, 1500] as const;

export function evictionSequences(): readonly EvictionSequence[] {
  const draw = seededDraw(SEED);
  return Array.from({ length: COUNT }, () => sequence(draw));
}

function sequence(draw: Draw): EvictionSequence {
  const soft = some(draw, VALUES);
  let [nowMs, atMs] = [0, 0];
  const rounds = Array.from({ length: ROUNDS }, () => {
    nowMs += draw([1, 5000, 10_000, 10_000, 30_000]);
    // Sometimes nothing was measured since the previous round.
    atMs = draw([nowMs, nowMs, nowMs, atMs]);
    const measured = MEASURED.filter(() => draw([true, true, true, true, false]));
    return { nowMs, observations: Object.fromEntries(measured.map((signal) => [signal, amountOf(draw, atMs)])) };
  });
  return {
    hard: some(draw, VALUES),
    soft,
    graces: Object.fromEntries(Object.keys(soft).map((signal) => [signal, draw(["1ms", "10s", "30s", "1m"])])),
    reclaims: some(draw, ["0", "50", "1k", "10%"]),
    allocatable: draw([["pods"], ["pods"], ["none"]]),
    layout: draw(["shared", "imagefs", "split"] as const),
    holdMs: draw([1, 10_000, 30_000, 300_000]),
    rounds,
  };
}

const some = (draw: Draw, values: readonly string[]): Written =>
  Object.fromEntries(WRITTEN.filter(() => draw([true, false])).map((signal) => [signal, draw(values)]));

const amountOf = (draw: Draw, atMs: number): Measured => ({ available: draw(AMOUNTS), capacity: 1000, atMs });
