/** Plans resizes of running pods: to more, to less, to more than the node has, back again, several times in a row. */
import type { Container, Pod, PodSpec, ResourceRequirements } from "../../src/api/gen/core-v1.ts";
import { isSidecar } from "../../src/domain/pod/containers.ts";
import { specOf } from "../../src/domain/resources/pod-resources.ts";
import { scripted, scriptOf } from "../fake-runtime/behaviour.ts";
import type { Draw } from "./draw.ts";
import type { PodAction, PodPlan } from "./workload.ts";

/** Flag of a node that cannot change pod-level resources: such a resize can never be granted there. */
export const WHOLE_PODS_STAY = "--feature-gates=InPlacePodLevelResourcesVerticalScaling=false";

const MIB = 1024 * 1024;
const USED_MIB = 40;
const DEEDS_MAX = 14;
const CPU_MILLIS = [50, 60, 100, 150, 200, 300, 400] as const;
/** The last is more than the node has. */
const MUCH_CPU_MILLIS = [1_200, 2_500, 3_500, 9_000] as const;
const MEMORY_MIBS = [48, 64, 96, 128, 256] as const;
const MUCH_MEMORY_MIBS = [2_000, 5_000, 9_000] as const;

/** What resources the containers of one pod have. The shape never changes, because the QoS class must stay the same. */
type Shape =
  /** Limits equal requests. */
  | "guaranteed"
  /** Limits exceed requests. */
  | "burstable"
  /** Requests without limits. */
  | "requests"
  /** The pod has pod-level resources, and its containers have none. */
  | "whole";

interface Wishes {
  readonly shape: Shape;
  readonly usesMemory: boolean;
}

/** The same pod with resources that a user changes from time to time. */
export function withResizes(draw: Draw, plan: PodPlan, activeMs: number): PodPlan {
  const { pod, end } = plan;
  const { spec } = pod;
  const mayUse = end === "runs" && spec?.restartPolicy === "Always";
  const shape = draw.pick([
    "guaranteed",
    "guaranteed",
    "burstable",
    "burstable",
    "requests",
    "whole",
    "whole",
  ] as const);
  const wishes: Wishes = { shape, usesMemory: mayUse && shape !== "requests" && draw.chance(0.7) };
  const made = begun(draw, pod, wishes);
  const lastMs = plan.fate.kind === "stays" ? activeMs - 5_000 : plan.fate.atMs;
  const resizes = drawTimes(draw, plan.createMs, lastMs).map((atMs) => drawAction(draw, made, wishes, atMs));
  const isShort = resizes.some((action) => memoryOf(action).some((text) => Number.parseInt(text, 10) <= USED_MIB));
  return {
    ...plan,
    pod: made,
    actions: [...plan.actions, ...resizes],
    // With a limit below its usage the pod would not run after a restart.
    ...(wishes.usesMemory && isShort && { end: "crashes" as const }),
  };
}

function begun(draw: Draw, pod: Pod, { shape, usesMemory }: Wishes): Pod {
  const { initContainers, containers, ...rest } = specOf(pod);
  const { restartPolicy } = rest;
  const small = (): ResourceRequirements =>
    shape === "whole" ? {} : requirements(draw, shape, { cpu: draw.pick(CPU_MILLIS), memory: 64 });
  const policies = () =>
    restartPolicy !== "Never" && draw.chance(0.3)
      ? { resizePolicy: [{ resourceName: draw.pick(["cpu", "memory"]), restartPolicy: "RestartContainer" }] }
      : {};
  const given = (container: Container): Container => ({ ...container, resources: small(), ...policies() });
  // Init containers are not resized.
  const givenFirst = (container: Container): Container =>
    isSidecar(container) ? given(container) : { ...container, resources: small() };
  const using = (container: Container, place: number): Container =>
    usesMemory && place === 0
      ? { ...container, command: [...scripted({ ...scriptOf(container.command), memoryBytes: USED_MIB * MIB })] }
      : container;
  const spec: PodSpec = {
    ...rest,
    containers: containers.map(given).map(using),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(givenFirst) }),
    ...(shape === "whole" ? { resources: requirements(draw, "guaranteed", { cpu: 200, memory: 96 }) } : {}),
  };
  return { ...pod, spec };
}

interface Amounts {
  readonly cpu: number;
  readonly memory: number;
}

function requirements(draw: Draw, shape: Shape, { cpu, memory }: Amounts): ResourceRequirements {
  const list = (milli: number, mib: number) => ({ cpu: `${milli}m`, memory: `${mib}Mi` });
  switch (shape) {
    case "requests":
      return { requests: list(cpu, memory) };
    case "burstable":
      return { requests: list(cpu, memory), limits: list(cpu + draw.pick([50, 100]), memory + draw.pick([16, 32])) };
    default:
      return { requests: list(cpu, memory), limits: list(cpu, memory) };
  }
}

/** Some resizes are far apart, some follow each other closely. */
function drawTimes(draw: Draw, createMs: number, lastMs: number): readonly number[] {
  const times: number[] = [];
  let atMs = draw.whole(createMs + 500, Math.max(createMs + 500, lastMs));
  for (let left = draw.whole(1, DEEDS_MAX); left > 0 && atMs < lastMs; left -= 1) {
    times.push(atMs);
    atMs += draw.chance(0.5) ? draw.whole(5, 4_000) : draw.whole(4_000, Math.max(4_000, (lastMs - createMs) / 4));
  }
  return times;
}

function drawAction(draw: Draw, { spec }: Pod, { shape, usesMemory }: Wishes, atMs: number): PodAction {
  const common = { kind: "resizes", atMs, isAtDeath: draw.chance(0.2) } as const;
  const wish = () => ({
    cpu: draw.pick(draw.chance(0.2) ? MUCH_CPU_MILLIS : CPU_MILLIS),
    memory: draw.pick(draw.chance(0.1) ? MUCH_MEMORY_MIBS : usesMemory ? [24, 32, ...MEMORY_MIBS] : MEMORY_MIBS),
  });
  if (shape === "whole") {
    return { ...common, containers: {}, whole: requirements(draw, "guaranteed", wish()) };
  }
  const sidecars = (spec?.initContainers ?? []).filter(isSidecar);
  const names = [...sidecars, ...(spec?.containers ?? [])].map(({ name }) => name);
  const some = draw.someOf(names, 0.6);
  const chosen = some.length === 0 ? names : some;
  return {
    ...common,
    containers: Object.fromEntries(chosen.map((name) => [name, requirements(draw, shape, wish())])),
  };
}

/** The memory limits that a resize requests. */
const memoryOf = (action: PodAction): readonly string[] =>
  action.kind !== "resizes"
    ? []
    : [...Object.values(action.containers), action.whole].flatMap((one) => one?.limits?.["memory"] ?? []);
