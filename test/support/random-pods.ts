/**
 * Pods with random resource requests and limits, drawn from a seed. They reach unplanned combinations,
 * and are small enough that dozens fit on a small machine.
 */
import type { Container, PodSpec } from "../../src/api/gen/core-v1.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";

const CPU_REQUESTS = [undefined, "1m", "3m", "7m", "13m", "25m", "33m"] as const;
const CPU_LIMITS = [undefined, "35m", "101m", "0.333", "1001m", "2.5"] as const;
const MEMORY_REQUESTS = [undefined, "1Mi", "12345678", "7M"] as const;
const MEMORY_LIMITS = [undefined, "32Mi", "33333333", "64e6", "0.05Gi"] as const;
const HUGE_PAGES = [undefined, undefined, undefined, "2Mi", "4Mi"] as const;

/** The same seed gives the same pods. */
export function randomPods(count: number, seed: number): readonly PodSpec[] {
  const draw = seededDraw(seed);
  return Array.from({ length: count }, () => randomPod(draw));
}

export type Draw = <T>(from: readonly T[]) => T;

function randomPod(draw: Draw): PodSpec {
  const names = ["a", "b", "c"].slice(0, draw([1, 1, 2, 3]));
  const initContainers = [
    ...draw([[], [], [{ ...container("i", draw), command: ["true"] }]]),
    ...draw([[], [], [{ ...container("s", draw), restartPolicy: "Always" as const }]]),
  ];
  const whole = draw([undefined, undefined, undefined, { cpu: "150m", memory: "200Mi" }]);
  const resources = whole && { requests: whole, limits: draw([whole, { ...whole, cpu: "1.05" }]) };
  // With pod-level resources the containers have none: theirs would have to fit into those of the pod.
  if (resources !== undefined) return { resources, containers: names.map((name) => plain(name)) };
  return {
    containers: names.map((name) => container(name, draw)),
    ...(initContainers.length > 0 && { initContainers }),
  };
}

const plain = (name: string): Container => ({ name, image: BUSYBOX_IMAGE, command: ["sleep", "3600"] });

function container(name: string, draw: Draw): Container {
  const [cpu, memory] = [
    [draw(CPU_REQUESTS), draw(CPU_LIMITS)],
    [draw(MEMORY_REQUESTS), draw(MEMORY_LIMITS)],
  ];
  const isSame = draw([false, false, true]);
  const pages = draw(HUGE_PAGES);
  const huge = pages === undefined ? {} : { "hugepages-2Mi": pages, memory: memory[1] ?? "32Mi" };
  const limits = { ...given("cpu", cpu[1]), ...given("memory", memory[1]), ...huge };
  const requests = isSame ? limits : { ...given("cpu", cpu[0]), ...given("memory", memory[0]), ...huge };
  return { ...plain(name), resources: { limits, requests: isSame ? smallCpu(requests) : requests } };
}

const given = (name: string, amount: string | undefined) => (amount === undefined ? {} : { [name]: amount });

/** Requests must fit on the node; limits may have any size. */
const smallCpu = (amounts: Readonly<Record<string, string>>) =>
  ["1001m", "2.5", "0.333"].includes(amounts["cpu"] ?? "") ? { ...amounts, cpu: "20m" } : amounts;

/** The same seed gives the same choices. */
export function seededDraw(seed: number): Draw {
  let state = seed >>> 0;
  return (from) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) >>> 0;
    const mixed = Math.imul(state ^ (state >>> 12), 0x297a2d39) >>> 0;
    return from[((mixed ^ (mixed >>> 15)) >>> 0) % from.length] as (typeof from)[number];
  };
}
