/** What a watch on the API server says of pods that should not have noticed a thing: of every version that was published, not of the last one alone. */
import type { ContainerStatus, Pod } from "../../src/api/gen/core-v1.ts";
import { conditionOf, type PodVersion } from "./cluster-pods.ts";

interface Told {
  readonly uid: string | undefined;
  readonly ready: boolean;
  readonly phase: string | undefined;
  /** Per container: how often it was restarted, which one it is, whether it is ready. */
  readonly containers: Readonly<Record<string, string>>;
}

const containersOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

const toldOf = (pod: Pod): Told => ({
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

/** Each version since then that says something else than the one before, with both. */
export function changesSince(name: string, versions: readonly PodVersion[], sinceWallMs: number): readonly string[] {
  const begin = versions.findLastIndex(({ seenWallMs }) => seenWallMs <= sinceWallMs);
  const faults: string[] = [];
  for (const [index, { kind, pod, seenWallMs }] of versions.entries()) {
    const before = versions[index - 1];
    if (index <= begin || before === undefined) continue;
    const [was, is] = [before, { kind, pod }].map((each) =>
      JSON.stringify(each.kind === "deleted" ? "deleted" : toldOf(each.pod)),
    );
    if (was !== is) faults.push(`${new Date(seenWallMs).toISOString()} ${name}: ${was} became ${is}`);
  }
  return faults;
}
