/**
 * Groups the runtime's lists of sandboxes and containers by pod, and shows which pods must be inspected because of
 * them.
 */
import type { Container } from "../runtime/container.ts";
import type { Sandbox } from "../runtime/sandbox.ts";
import { podUidOf } from "./runtime-view.ts";

export interface PodListing {
  readonly sandboxes: readonly Sandbox[];
  readonly containers: readonly Container[];
}

export function listingByPod(
  sandboxes: readonly Sandbox[],
  containers: readonly Container[],
): ReadonlyMap<string, PodListing> {
  const byPod = new Map<string, { sandboxes: Sandbox[]; containers: Container[] }>();
  const of = (uid: string) => {
    const known = byPod.get(uid) ?? { sandboxes: [], containers: [] };
    byPod.set(uid, known);
    return known;
  };
  for (const sandbox of sandboxes) of(sandbox.metadata.uid).sandboxes.push(sandbox);
  for (const container of containers) {
    const uid = podUidOf(container);
    if (uid !== undefined) of(uid).containers.push(container);
  }
  return byPod;
}

/** Two listings with the same fingerprint need no new inspection. */
export function fingerprint({
  sandboxes,
  containers,
}: {
  readonly sandboxes: readonly Pick<Sandbox, "id" | "state">[];
  readonly containers: readonly Pick<Container, "id" | "state">[];
}): string {
  const lines = [
    ...sandboxes.map(({ id, state }) => `s ${id} ${state}`),
    ...containers.map(({ id, state }) => `c ${id} ${state}`),
  ];
  return lines.sort().join("\n");
}
