/** Converts an action of the pod worker to its journal record. */
import type { ActionName, Decision, ProbeStop } from "../journal/decisions.ts";
import type { ContainerStop } from "./container-stops.ts";
import type { PodAction } from "./pod-actions.ts";

/** Action names in the journal, by action kind in the code. */
const NAMES: Readonly<Record<PodAction["kind"], ActionName>> = {
  makeRoom: "makeRoom",
  stopContainers: "stopContainers",
  stopSandboxes: "stopSandboxes",
  removeUnstarted: "removeUnstarted",
  removeForRestart: "removeForRestart",
  createSandbox: "createSandbox",
  resize: "resize",
  startContainer: "startContainer",
  startCreated: "startCreated",
  postStart: "postStart",
};

/** `cause`: why the pod terminates; undefined while the pod runs. */
export function actionDecision(action: PodAction, cause: string | undefined): Decision {
  const { kind, ...details } = action;
  return {
    kind: "act",
    action: NAMES[kind],
    why: cause ?? JSON.stringify(details),
    ...("name" in action ? { container: action.name } : {}),
    probeStops: kind === "stopContainers" ? action.containers.flatMap(probeStop) : [],
  };
}

const probeStop = ({ name, reason }: ContainerStop): readonly ProbeStop[] =>
  reason.kind === "probeFailed" ? [{ container: name, probe: reason.probe }] : [];
