/**
 * A node that is small for its pods: how much it has of memory, disk and process IDs, the agent's thresholds, and pods
 * whose use of the node changes with time. Any pod of such a node may be evicted, or rejected because of the pressure.
 */
import type { Container, Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import type { KnownThreshold } from "../eviction-oracle.ts";
import type { Use } from "../fake-runtime/behaviour.ts";
import type { Resource } from "../pod-use.ts";
import { type SmallNode } from "../small-node.ts";
import { app, manifestOf, pod, SERVER } from "../workload/pod.ts";
import type { Draw } from "./draw.ts";
import type { PodPlan } from "./workload.ts";

export interface PressurePlan {
  readonly node: SmallNode;
  readonly thresholds: readonly KnownThreshold[];
  readonly flags: readonly string[];
  readonly staticPod: Pod | undefined;
}

const MIB = 2 ** 20;
const CRITICAL = 2_000_000_000;
export const KEPT_IMAGES = "kept.example/";
const PODS = { min: 4, max: 8 } as const;
const SOFT_GRACE_SECONDS = 15;
const HUNGRY_WITHIN_MS = 60_000;

/** What the node has for pods, the hard threshold, the soft threshold, and how much one pod uses at most. */
const AMOUNTS = {
  memory: { free: 500 * MIB, hard: 100 * MIB, soft: 180 * MIB, used: 250 * MIB },
  disk: { free: 300 * MIB, hard: 40 * MIB, soft: 70 * MIB, used: 120 * MIB },
  pids: { free: 2_000, hard: 500, soft: 800, used: 700 },
} as const satisfies Readonly<Record<Resource, Readonly<Record<"free" | "hard" | "soft" | "used", number>>>>;

const SIGNALS = {
  memory: ["memory.available"],
  disk: ["nodefs.available", "imagefs.available"],
  pids: ["pid.available"],
} as const;

const USES = { memory: "memoryBytes", disk: "layerBytes", pids: "children" } as const satisfies Record<
  Resource,
  keyof Use
>;

/** `isHopeless`: the node is short of memory from the beginning, whatever its pods use. */
export function drawPressure(
  draw: Draw,
  isHopeless: boolean,
): PressurePlan & { readonly resources: readonly Resource[] } {
  const one = draw.pick(["memory", "memory", "disk", "disk", "pids"] as const);
  const resources: readonly Resource[] = draw.chance(0.2) ? ["memory", "disk", "pids"] : [one];
  const soft = draw.chance(0.3) ? resources : [];
  const has = (resource: Resource) => resources.includes(resource);
  return {
    resources,
    node: {
      freeMemoryBytes: has("memory") ? (isHopeless ? AMOUNTS.memory.hard / 2 : AMOUNTS.memory.free) : undefined,
      freeProcessIds: has("pids") ? AMOUNTS.pids.free : undefined,
      diskBytes: has("disk") ? AMOUNTS.disk.free : undefined,
      unusedImages: has("disk") ? draw.whole(1, 4) : 0,
      keptImage: `${KEPT_IMAGES}tools:1`,
    },
    thresholds: [
      ...resources.map((resource) => ({ resource, amount: AMOUNTS[resource].hard, graceMs: 0 })),
      ...soft.map((resource) => ({
        resource,
        amount: AMOUNTS[resource].soft,
        graceMs: SOFT_GRACE_SECONDS * 1_000,
      })),
    ],
    flags: [
      `--eviction-hard=${statements(resources, "hard")}`,
      ...(soft.length === 0
        ? []
        : [
            `--eviction-soft=${statements(soft, "soft")}`,
            `--eviction-soft-grace-period=${signalsOf(soft)
              .map((signal) => `${signal}=${SOFT_GRACE_SECONDS}s`)
              .join()}`,
            `--eviction-max-pod-grace-period=${draw.whole(1, 8)}`,
          ]),
      `--deckhand-image-gc-keep=${KEPT_IMAGES}*`,
      "--minimum-image-ttl-duration=0s",
      "--eviction-pressure-transition-period=20s",
    ],
    staticPod: draw.chance(0.4) ? manifestOf(pod("hungry-static", hungry(draw, resources, 60_000))) : undefined,
  };
}

const signalsOf = (resources: readonly Resource[]) => resources.flatMap((resource) => SIGNALS[resource]);

const statements = (resources: readonly Resource[], kind: "hard" | "soft"): string =>
  resources.flatMap((resource) => SIGNALS[resource].map((signal) => `${signal}<${AMOUNTS[resource][kind]}`)).join();

/** Pods whose use of the node changes while they run. */
export function drawHungryPods(draw: Draw, resources: readonly Resource[], activeMs: number): readonly PodPlan[] {
  return Array.from({ length: draw.whole(PODS.min, PODS.max) }, (_, index): PodPlan => {
    const priority = draw.pick([0, 0, 0, 100, -5, CRITICAL]);
    const spec = hungry(draw, resources, Math.min(activeMs / 2, HUNGRY_WITHIN_MS));
    return {
      pod: pod(`hungry${index}`, {
        ...spec,
        ...(priority === 0 ? {} : { priority }),
        terminationGracePeriodSeconds: draw.whole(1, 8),
      }),
      createMs: draw.whole(1_500, Math.floor(activeMs * 0.5)),
      fate: { kind: "stays" },
      actions: [],
      end: "yields",
    };
  });
}

function hungry(draw: Draw, resources: readonly Resource[], withinMs: number): Pick<PodSpec, "containers"> {
  const ages = Array.from({ length: draw.whole(1, 3) }, () => draw.whole(500, withinMs)).sort((a, b) => a - b);
  const most = (resource: Resource) => draw.whole(Math.floor(AMOUNTS[resource].used / 3), AMOUNTS[resource].used);
  const uses = ages.map((fromMs) => ({
    fromMs,
    ...Object.fromEntries(resources.map((resource) => [USES[resource], most(resource)])),
  }));
  // Requested by all, so that a shortage of memory rejects none of them.
  const requests = { memory: `${draw.whole(1, 60)}Mi` };
  const hasLimit = draw.chance(0.2);
  const layerBytes = draw.pick([2, 4, 4, 9]) * MIB;
  const limited: Partial<Container> = { resources: { requests, limits: { "ephemeral-storage": "6Mi" } } };
  return hasLimit
    ? app({ ...SERVER, uses: uses.map((use) => ({ ...use, layerBytes })) }, limited)
    : app({ ...SERVER, uses }, { resources: { requests } });
}
