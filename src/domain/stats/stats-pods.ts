/** The pods that statistics cover: those with a running container, each once, with the sandbox that it runs in. */
import { containerNameOf, type PodRuntimeView } from "../pod/runtime-view.ts";
import type { SandboxStatus } from "../runtime/sandbox.ts";

export interface StatsContainer {
  readonly id: string;
  readonly name: string;
  readonly createdWallMs: number;
  readonly image: string;
}

export interface StatsPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly createdWallMs: number;
  readonly containers: readonly StatsContainer[];
}

/**
 * Of the sandboxes that share a pod's name, the ready ones count; if none is ready, the newest. A pod may have several
 * while one replaces another, and another pod may have had its name before.
 */
export function statsPods(views: readonly PodRuntimeView[]): readonly StatsPod[] {
  const byName = new Map<string, { readonly view: PodRuntimeView; readonly sandbox: SandboxStatus }[]>();
  for (const view of views) {
    for (const sandbox of view.sandboxes) {
      const name = `${sandbox.metadata.namespace}/${sandbox.metadata.name}`;
      byName.set(name, [...(byName.get(name) ?? []), { view, sandbox }]);
    }
  }
  return [...byName.values()].flatMap((all) => {
    const ready = all.filter(({ sandbox }) => sandbox.state === "ready");
    const newest = all.toSorted((a, b) => (a.sandbox.createdWallNs < b.sandbox.createdWallNs ? 1 : -1)).slice(0, 1);
    return (ready.length > 0 ? ready : newest).flatMap(({ view, sandbox }) => podIn(view, sandbox));
  });
}

function podIn(view: PodRuntimeView, sandbox: SandboxStatus): readonly StatsPod[] {
  const running = view.containers.filter(({ sandboxId, state }) => sandboxId === sandbox.id && state === "running");
  if (running.length === 0) return [];
  return [
    {
      uid: view.uid,
      namespace: sandbox.metadata.namespace,
      name: sandbox.metadata.name,
      sandboxId: sandbox.id,
      createdWallMs: msOf(sandbox.createdWallNs),
      containers: running.map((container) => ({
        id: container.id,
        name: containerNameOf(container),
        createdWallMs: msOf(container.createdWallNs),
        image: container.image.image,
      })),
    },
  ];
}

const msOf = (wallNs: bigint): number => Number(wallNs) / 1e6;
