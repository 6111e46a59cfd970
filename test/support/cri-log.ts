/** Extracts single containers from a log of CRI calls. */
import type { ContainerStatusResponse, CreateContainerRequest } from "../../src/wire/cri/gen/api_pb.js";
import type { CriCall } from "../cluster/cri-proxy.ts";

export interface ContainerRun {
  readonly id: string;
  readonly container: string;
  readonly attempt: number;
  readonly startedWallMs: number;
  /** From the runtime's ContainerStatus responses. */
  readonly finishedWallMs: number | undefined;
}

/** Every successful start of a pod's containers, in order. */
export function runsOf(calls: readonly CriCall[], podUid: string): readonly ContainerRun[] {
  const finished = new Map<string, number>();
  for (const call of answered(calls, "ContainerStatus")) {
    const ns = (call.answer as ContainerStatusResponse).status?.finishedAt ?? 0n;
    if (ns > 0n) finished.set(call.id, Number(ns / 1000n) / 1000);
  }
  const created = new Map(
    answered(calls, "CreateContainer").map((call) => [
      (call.answer as { readonly containerId: string }).containerId,
      call.request as CreateContainerRequest,
    ]),
  );
  return answered(calls, "StartContainer").flatMap(({ id, startedWallMs }) => {
    const request = created.get(id);
    const metadata = request?.config?.metadata;
    if (metadata === undefined || request?.sandboxConfig?.metadata?.uid !== podUid) return [];
    const { name: container, attempt } = metadata;
    return [{ id, container, attempt, startedWallMs, finishedWallMs: finished.get(id) }];
  });
}

export const answered = (calls: readonly CriCall[], method: string): readonly CriCall[] =>
  calls.filter((call) => call.method === method && call.code === 0);

export const podUidOfCall = ({ request }: CriCall): string | undefined => {
  const { config, sandboxConfig } = request as {
    readonly config?: { readonly metadata?: { readonly uid?: string } };
    readonly sandboxConfig?: { readonly metadata?: { readonly uid?: string } };
  };
  return sandboxConfig?.metadata?.uid ?? config?.metadata?.uid;
};
