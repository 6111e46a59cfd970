/**
 * 1 000 tables of pods and their stats, drawn from a seed. `answers.jsonl` contains the Go kubelet's answer to each:
 * the order of eviction, the text of the first pod, the pods that exceed a limit of local storage, and what is removed
 * before any pod.
 *
 * Go's sort keeps the order of equal elements only up to twelve elements, so no two pods of a larger table are equal.
 */
import type { Container, Pod, PodSpec, Volume } from "../../../src/api/gen/core-v1.ts";
import type { FilesystemLayout, Signal } from "../../../src/domain/node/pressure.ts";
import type { ContainerStats, FsStats, PodStats, VolumeStats } from "../../../src/domain/stats/summary-shape.ts";
import { type Draw, seededDraw } from "../../support/random-pods.ts";

export interface EvictionTable {
  readonly signal: Signal;
  readonly layout: FilesystemLayout;
  readonly pods: readonly Pod[];
  readonly stats: readonly PodStats[];
  /** The most urgent first. */
  readonly thresholds: readonly { readonly signal: Signal; readonly value: string }[];
  readonly observations: Readonly<Partial<Record<Signal, { readonly available: number; readonly capacity: number }>>>;
}

export interface EvictionAnswer {
  /** Places in the table. */
  readonly order: readonly number[];
  readonly storage: readonly { readonly pod: number; readonly message: string }[];
  readonly text: { readonly message: string; readonly annotations: Readonly<Record<string, string>> };
  readonly reclaims: readonly string[];
}

export const EVICTION_ANSWERS = "eviction/answers.jsonl";

const COUNT = 1000;
const SEED = 20_261_119;
const MIB = 2 ** 20;
const TIME = "2026-01-01T00:00:00Z";
const SMALL_PODS_MAX = 12;
/** Every fifth table is larger than Go's stable sort. */
const LARGE_EVERY = 5;

const SIGNALS: readonly Signal[] = [
  "memory.available",
  "allocatableMemory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "containerfs.available",
  "containerfs.inodesFree",
  "pid.available",
];
const LAYOUTS: readonly FilesystemLayout[] = ["shared", "imagefs", "split"];
const REQUESTS = [undefined, "0", "1Mi", "64Mi", "67108865", "100M", "1.5Gi", "0.1Gi"] as const;
const LIMITS = [undefined, undefined, undefined, "1Mi", "100M", "1.5Gi", "2Gi"] as const;
const PRIORITIES = [undefined, 0, 0, 1, 100, -5, 2_000_000_000] as const;
const MEBIBYTES = [0, 0, 1, 2, 64, 96, 1024, 1536] as const;
const INODES = [0, 128, 128, 4096, 8192, 1_048_576] as const;

export function evictionTables(): readonly EvictionTable[] {
  const draw = seededDraw(SEED);
  return Array.from({ length: COUNT }, (_, index) => {
    const signal = SIGNALS[index % SIGNALS.length] ?? "pid.available";
    const layout = LAYOUTS[Math.floor(index / SIGNALS.length) % LAYOUTS.length] ?? "shared";
    // No file of a pod is on this file system, so that pods differ in nothing but their priority.
    const isEqual = layout === "split" && signal.startsWith("imagefs");
    return table(draw, { signal, layout, isLarge: index % LARGE_EVERY === 0 && !isEqual });
  });
}

interface Shape extends Pick<EvictionTable, "signal" | "layout"> {
  readonly isLarge: boolean;
}

function table(draw: Draw, { signal, layout, isLarge }: Shape): EvictionTable {
  const counts = Array.from({ length: SMALL_PODS_MAX }, (_, index) => index + 1 + (isLarge ? SMALL_PODS_MAX * 2 : 0));
  const pods = Array.from({ length: draw(counts) }, (_, place) => podOf(draw, place));
  const stats = pods.flatMap((pod, place) => {
    if (!isLarge && draw([true, false, false, false, false, false, false, false])) return [];
    return [statsOf(draw, pod, isLarge ? place : undefined)];
  });
  const others = SIGNALS.filter(() => draw([true, false, false]));
  return {
    signal,
    layout,
    pods,
    stats,
    thresholds: [...others, signal].map((name) => ({
      signal: name,
      value: draw(["100Mi", "1e3", "0.1Gi", "5%", "12.5%"]),
    })),
    observations: Object.fromEntries(
      [...others.filter(() => draw([true, true, false])), ...draw([[signal], [signal], []])].map((name) => [
        name,
        {
          available: draw([0, 1000, 99 * MIB, 4096, 123_456_789]),
          capacity: draw([8_232_796_160, 1_310_720, 2 ** 40]),
        },
      ]),
    ),
  };
}

function podOf(draw: Draw, place: number): Pod {
  const names = ["a", "b", "c"].slice(0, draw([1, 1, 2, 3]));
  const initContainers = [
    ...draw([[], [], [container("i", draw)]]),
    ...draw([[], [], [{ ...container("s", draw), restartPolicy: "Always" }]]),
  ];
  const priority = draw(PRIORITIES);
  const whole = draw([undefined, undefined, "requests", "requests", "limits"] as const);
  const resources = whole && {
    [whole]: draw([{ memory: "64Mi" }, { memory: "1Mi" }, { cpu: "1" }, { cpu: "1", memory: "0.1Gi" }]),
  };
  const overhead = draw([undefined, undefined, { memory: "1Mi", "ephemeral-storage": "2Mi" }]);
  const spec: PodSpec = {
    containers: names.map((name) => container(name, draw)),
    volumes: volumes(draw),
    ...(initContainers.length > 0 && { initContainers }),
    ...(priority !== undefined && { priority }),
    ...(resources !== undefined && { resources }),
    ...(overhead !== undefined && { overhead }),
  };
  return { metadata: { name: `p${place}`, namespace: "default", uid: `u${place}` }, spec };
}

function container(name: string, draw: Draw): Container {
  const requests = { ...given("memory", draw(REQUESTS)), ...given("ephemeral-storage", draw(REQUESTS)) };
  const limits = given("ephemeral-storage", draw(LIMITS));
  return { name, image: "busybox", resources: { requests, limits } };
}

const given = (name: string, amount: string | undefined): Readonly<Record<string, string>> =>
  amount === undefined ? {} : { [name]: amount };

const volumes = (draw: Draw): readonly Volume[] =>
  [
    { name: "cache", emptyDir: given("sizeLimit", draw([undefined, "1Mi", "1e9", "0"])) },
    { name: "memory", emptyDir: { medium: "Memory", ...given("sizeLimit", draw([undefined, "64Mi"])) } },
    { name: "settings", configMap: { name: "settings" } },
    { name: "secret", secret: { secretName: "secret" } },
    { name: "host", hostPath: { path: "/var" } },
    { name: "git", gitRepo: { repository: "https://example.com/x.git" } },
    { name: "token", projected: { sources: [] } },
  ].filter(() => draw([true, false, false]));

/** `place`: makes the usage differ from that of all other pods of the table. */
function statsOf(draw: Draw, { metadata, spec }: Pod, place: number | undefined): PodStats {
  const { name = "", namespace = "", uid = "" } = metadata ?? {};
  const { containers = [], initContainers = [], volumes: mounted = [] } = spec ?? {};
  const names = [...containers, ...initContainers].map((one) => one.name);
  const memory = place !== undefined || draw([true, true, true, false]) ? memoryOf(draw, place) : undefined;
  const volume = mounted
    .filter(() => draw([true, true, true, false]))
    .map(
      (one): VolumeStats => ({ ...filesOf(draw, undefined), usedBytes: mebibytes(draw, undefined), name: one.name }),
    );
  const whole = filesOf(draw, undefined);
  return {
    podRef: { name, namespace, uid },
    startTime: TIME,
    containers: [...names, ...draw([[], [], ["debugger"]])].map((one) =>
      containerStats(draw, one, one === names[0] ? place : undefined),
    ),
    volume,
    ...(memory !== undefined && { memory }),
    ...draw([{}, { "ephemeral-storage": whole }, { "ephemeral-storage": whole }]),
    ...(place !== undefined || draw([true, true, true, false])
      ? { process_stats: { process_count: draw([0, 100, 100, 200]) + (place ?? 0) } }
      : {}),
  };
}

function containerStats(draw: Draw, name: string, place: number | undefined): ContainerStats {
  const rootfs = place !== undefined || draw([true, true, true, false]) ? { rootfs: filesOf(draw, place) } : {};
  const logs = place !== undefined || draw([true, true, true, false]) ? { logs: filesOf(draw, place) } : {};
  const memory = draw([true, true, true, false]) ? { memory: memoryOf(draw, undefined) } : {};
  return { name, startTime: TIME, ...rootfs, ...logs, ...memory };
}

function filesOf(draw: Draw, place: number | undefined): FsStats {
  const usedBytes = mebibytes(draw, place);
  const inodesUsed = draw(INODES) + (place ?? 0);
  if (place !== undefined) return { time: TIME, usedBytes, inodesUsed };
  return { time: TIME, ...draw([{}, { usedBytes }, { usedBytes, inodesUsed }, { usedBytes, inodesUsed }]) };
}

const mebibytes = (draw: Draw, place: number | undefined): number => draw(MEBIBYTES) * MIB + (place ?? 0);

const memoryOf = (draw: Draw, place: number | undefined) => ({
  time: TIME,
  usageBytes: 0,
  workingSetBytes: mebibytes(draw, place),
  rssBytes: 0,
  pageFaults: 0,
  majorPageFaults: 0,
});
