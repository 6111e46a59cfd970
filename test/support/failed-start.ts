/** Starts an agent that must exit by itself. */
import { readFile } from "node:fs/promises";
import type { Cluster } from "../cluster/cluster.ts";
import type { AgentOptions } from "../cluster/node.ts";
import { waitUntil } from "../cluster/wait.ts";

const EXIT_MS_MAX = 30_000;

/** Deckhand with these options takes the place of the node's agent. Returns what it logged until it exited. */
export async function failedStart(cluster: Cluster, node: string, options: AgentOptions): Promise<string> {
  const agent = cluster.component(`kubelet@${node}`);
  const earlier = (await readFile(agent.logFile, "utf8")).length;
  // Rejects if the agent exits before it is ready, which is not certain.
  await cluster.changeAgent(node, "deckhand", options).catch(() => undefined);
  await waitUntil("the agent to exit", EXIT_MS_MAX, async () => !(await agent.isAlive()));
  const log = await readFile(agent.logFile, "utf8");
  return log.slice(log.length > earlier ? earlier : 0);
}
