/** Loops that journal what `deckhand explain` reports of the node. */
import { type NodeStatesOptions, watchNodeStates } from "../controllers/explain/watch-node-states.ts";
import type { ClusterInputs, WaitInputs } from "../domain/node/node-waits.ts";
import type { Journal } from "../ports/journal.ts";
import type { Loop, Wiring } from "./wiring.ts";

export function nodeStateLoops(wiring: Wiring, journal: Pick<Journal, "note">): readonly Loop[] {
  const { ports, cells } = wiring;
  const { clock } = ports;
  const { nodeReport, runtimeHealth, qosCgroups, sourcesReady } = cells;
  const { nodeRegistered, ownNode, nodeNotReadyReasons, clientCertificate, servingState } = cells;
  const ofCluster = [nodeReport, nodeRegistered, ownNode, nodeNotReadyReasons, clientCertificate, servingState];
  const options: NodeStatesOptions = {
    journal,
    clock,
    nodeReport,
    waitInputs: () => waitInputs(wiring),
    waitCells: [runtimeHealth, qosCgroups, sourcesReady, ...(ports.api === undefined ? [] : ofCluster)],
  };
  return [(shutdown) => watchNodeStates(options, shutdown)];
}

const waitInputs = (wiring: Wiring): WaitInputs => ({
  nowWallMs: wiring.ports.clock.wallMs(),
  runtime: wiring.cells.runtimeHealth.value,
  qosCgroups: wiring.cells.qosCgroups.value,
  sourcesReady: wiring.cells.sourcesReady.value,
  cluster: wiring.ports.api === undefined ? undefined : clusterInputs(wiring),
});

function clusterInputs({ options, cells }: Wiring): ClusterInputs {
  const { rotates, serving } = options.identity;
  return {
    registration: cells.nodeRegistered.value,
    ownNode: cells.ownNode.value,
    notReadyReasons: cells.nodeNotReadyReasons.value,
    reportTrouble: cells.nodeReport.value.trouble,
    clientCertificate: rotates ? cells.clientCertificate.value : undefined,
    servingCertificate: serving.kind === "cluster" ? cells.servingState.value : undefined,
  };
}
