/**
 * Finds changes in pods that must not be affected by a test's action. Checks every version that a watch on the API
 * server delivered, not only the last.
 */
import type { ContainerStatus, Pod } from "../../src/api/gen/core-v1.ts";
import { conditionOf, type PodVersion } from "./cluster-pods.ts";

interface Reported {
  readonly uid: string | undefined;
  readonly ready: boolean;
  readonly phase: string | undefined;
  /** Restart count, id and readiness, by container name. */
  readonly containers: Readonly<Record<string, string>>;
}

const containersOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

const reportOf = (pod: Pod): Reported => ({
  uid: pod.metadata?.uid,
  ready: conditionOf(pod, "Ready")?.status === "True",
  phase: pod.status?.phase,
  containers: Object.fromEntries(
    containersOf(pod).map(({ name, restartCount, containerID, ready }) => [
      name,
      `${restartCount} ${containerID} ${ready}`,
    ]),
  ),
});

/** Each version since then that differs from the one before, with both. */
export function changesSince(name: string, versions: readonly PodVersion[], sinceWallMs: number): readonly string[] {
  const begin = versions.findLastIndex(({ seenWallMs }) => seenWallMs <= sinceWallMs);
  const faults: string[] = [];
  for (const [index, { kind, pod, seenWallMs }] of versions.entries()) {
    const before = versions[index - 1];
    if (index <= begin || before === undefined) continue;
    const [was, is] = [before, { kind, pod }].map((each) =>
      JSON.stringify(each.kind === "deleted" ? "deleted" : reportOf(each.pod)),
    );
    if (was !== is) faults.push(`${new Date(seenWallMs).toISOString()} ${name}: ${was} became ${is}`);
  }
  return faults;
}
