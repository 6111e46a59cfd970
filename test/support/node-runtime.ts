/** Accesses the runtime of a node directly, without its agent. */
import type { Runtime } from "../../src/ports/runtime.ts";
import { connectCri } from "../../src/wire/cri/client.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import type { ClusterNode } from "../cluster/cluster.ts";

export async function withRuntime<T>(
  { criEndpoint }: Pick<ClusterNode, "criEndpoint">,
  act: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const client = connectCri({ endpoint: criEndpoint, onMalformed: () => {} }, hostClock);
  try {
    return await act(client.runtime);
  } finally {
    client.close();
  }
}
