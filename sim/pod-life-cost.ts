/**
 * Counts what one pod lifecycle costs: the calls to the runtime, the requests to the API server, and the synced writes
 * of the journal. Runs the production code in the simulator. `npm run pod-life` prints the result as Markdown;
 * docs/ARCHITECTURE.md holds the output.
 */

import { compose } from "../src/app/compose.ts";
import { kubeletOptions } from "./kubelet.ts";
import { type ObservedCall, spyOnPorts } from "./port-spy.ts";
import { play } from "./scenarios/scenario.ts";
import { podOf } from "./sequences.ts";
import type { AgentFactory } from "./sim-node.ts";

const BEGIN_MS = 20_000;
/** The pod's process needs 300 ms to end, and nothing periodic happens in such a short lifecycle. */
const REMOVED_MS = BEGIN_MS + 2_000;
const LASTS_MS = REMOVED_MS + 2_500;

/** How often each call was made, by party. */
type Costs = ReadonlyMap<string, ReadonlyMap<string, number>>;

export async function podLifeCosts(): Promise<Costs> {
  const costs = new Map<string, Map<string, number>>();
  const count = (party: string, what: string) => {
    const ofParty = costs.get(party) ?? new Map<string, number>();
    costs.set(party, ofParty.set(what, (ofParty.get(what) ?? 0) + 1));
  };
  const { violations, wrong } = await play(
    {
      name: "one life of a pod",
      steps: [
        [BEGIN_MS, ({ create }) => void create(podOf({}))],
        [REMOVED_MS, ({ remove }) => remove("web")],
      ],
      lastsMs: LASTS_MS,
      wrong: ({ pod }) => (pod("web") === undefined ? [] : ["it is still there"]),
    },
    { agent: counting(count) },
  );
  if (violations.length + wrong.length > 0) throw new Error([...violations, ...wrong].join("; "));
  return costs;
}

export async function podLifeAsMarkdown(): Promise<string> {
  const costs = await podLifeCosts();
  const rows = [...costs]
    .toSorted(byName)
    .flatMap(([party, calls]) =>
      [...calls].toSorted(byName).map(([what, times]) => `| ${party} | ${what} | ${times} |`),
    );
  return ["| party | call | times |", "| --- | --- | ---: |", ...rows, ""].join("\n");
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => a.localeCompare(b, "en");

function counting(count: (party: string, what: string) => void): AgentFactory {
  return (ports, node) => {
    const called = (call: ObservedCall) => {
      const found = ports.clock.monotonicMs() < BEGIN_MS ? undefined : costOf(call);
      if (found !== undefined) count(...found);
    };
    const spy = { called, answered: () => {}, streamed: () => {} };
    return compose(spyOnPorts(ports, spy), kubeletOptions(node.name));
  };
}

/** Calls that the node makes to the runtime regardless of its pods. */
const OF_THE_NODE = ["events", "imageFilesystems", "listImages", "status", "version"];

function costOf({ port, method, args }: ObservedCall): [party: string, what: string] | undefined {
  if (port === "runtime" || port === "images") return OF_THE_NODE.includes(method) ? undefined : ["runtime", method];
  if (port === "api" && method !== "renewConnections") {
    const [{ plural }, , patch] = args as readonly [{ readonly plural: string }, unknown, unknown];
    if (plural === "nodes" || plural === "leases") return undefined;
    const isStatus = JSON.stringify(patch ?? {}).includes('"status"');
    return ["API server", `${method} ${plural}${method === "patch" && isStatus ? "/status" : ""}`];
  }
  const [path, , , sync] = args as readonly [string, number, Uint8Array, string | undefined];
  const isSynced =
    port === "files" && method === "appendAt" && path.includes("/deckhand/journal/") && sync !== "unsynced";
  return isSynced ? ["journal", "synced write"] : undefined;
}
