/** A minimal CPU manager: the container "app" of every pod gets one exclusive set of CPUs, as long as there are any. */
import type { Pod } from "../../src/api/gen/core-v1.ts";
import type { ReadonlyTable } from "../../src/concurrency/latest-table.ts";
import type { AllocationOutcome, PodAllocator } from "../../src/controllers/sync-loop/allocation.ts";
import {
  type ContainerAllocations,
  containerAllocation,
  type PodAllocation,
  withContainerAllocation,
} from "../../src/domain/allocation/pod-allocation.ts";
import type { JournaledPod } from "../../src/domain/journal/journaled-pod.ts";
import type { AdmittedPod } from "../../src/domain/pod/admitted-pod.ts";
import { podNameOfObject } from "../../src/domain/pod/pod-names.ts";

export interface FakeCpuParts {
  /** Each set goes to one container. */
  readonly sets: readonly string[];
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly journaledPods: ReadonlyMap<string, JournaledPod>;
}

export class FakeCpuAllocator implements PodAllocator {
  readonly name = "fake-cpus";
  readonly calls: string[] = [];
  readonly #parts: FakeCpuParts;
  readonly #released = new Set<string>();

  constructor(parts: FakeCpuParts) {
    this.#parts = parts;
  }

  async allocate(pod: Pod, soFar: PodAllocation): Promise<AllocationOutcome> {
    const { uid, name } = podNameOfObject(pod);
    this.calls.push(`allocate ${name}`);
    const used = this.#used();
    const cpus = this.#parts.sets.find((set) => !used.has(set));
    if (cpus === undefined) {
      return { kind: "rejected", rejection: { reason: "OutOfcpus", message: "not enough cpus available" } };
    }
    this.#released.delete(uid);
    return { kind: "allocated", allocation: withContainerAllocation(soFar, "app", { cpus }) };
  }

  release(uid: string): void {
    this.calls.push(`release ${uid}`);
    this.#released.add(uid);
  }

  #used(): ReadonlySet<string> {
    const { admittedPods, journaledPods } = this.#parts;
    const published = admittedPods.keys().flatMap((uid): readonly (readonly [string, ContainerAllocations])[] => {
      const verdict = admittedPods.get(uid)?.verdict;
      return verdict?.kind === "admitted" ? [[uid, verdict.allocation.containers]] : [];
    });
    const journaled = [...journaledPods.values()].map(
      ({ uid, allocated, finishedWallMs }) =>
        [uid, finishedWallMs === undefined ? (allocated?.containerAllocations ?? {}) : {}] as const,
    );
    const held = [...published, ...journaled].filter(([uid]) => !this.#released.has(uid));
    return new Set(held.flatMap(([, containers]) => containerAllocation(containers, "app").cpus ?? []));
  }
}
