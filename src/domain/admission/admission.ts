/**
 * Whether this node takes a pod beside those it has taken. There are three answers: what cannot be known yet is no reason to turn a pod
 * away, it waits. The checks stand in the order of the Go kubelet's, so that of several reasons the same one is told.
 */
import type { Node, Pod } from "../../api/gen/core-v1.ts";
import { runtimeClassOf } from "../container-config/runtime-handler.ts";
import { isCriticalPod } from "../pod/pod-identity.ts";
import { podNameOfObject } from "../pod/pod-names.ts";
import { undeclaredFeatures } from "./declared-features.ts";
import { hostPortsTaken } from "./host-ports.ts";
import type { NodeForPods } from "./node-for-pods.ts";
import { underPressure } from "./node-pressure.ts";
import { namesNode, selectsNode, toleratesNode } from "./node-selection.ts";
import { notBuilt } from "./not-built.ts";
import { wrongOperatingSystem } from "./operating-system.ts";
import { unenforcedApparmor, unsupportedGroupsPolicy, unsupportedPodResources } from "./pod-features.ts";
import { choosePreempted } from "./preemption.ts";
import { type Shortage, shortageMessage, shortages } from "./resource-fit.ts";
import { forbiddenSysctl } from "./sysctls.ts";
import type { Deferral, Rejection, Verdict } from "./verdict.ts";

/** Whom a pod is judged beside. */
export interface Beside {
  /** Those that were taken in and are not over, and those that room is being made for. */
  readonly staying: readonly Pod[];
  /** Taken in, and ending so that another finds room. */
  readonly leaving: readonly Pod[];
}

export type Judgement =
  /** What it is given is decided after this. */
  | { readonly kind: "admitted" }
  | Exclude<Verdict, { kind: "admitted" }>
  /** Only the node's labels speak against it: they may be newer than we know. */
  | { readonly kind: "misplaced"; readonly rejection: Rejection }
  /** It is critical, and these must end before it can be taken. */
  | {
      readonly kind: "preempts";
      readonly victims: readonly Pod[];
      /** What there is first too little of. */
      readonly resource: string;
      readonly deferral: Deferral;
    };

export function judge(pod: Pod, beside: Beside, facts: NodeForPods): Judgement {
  const early =
    underPressure(pod, facts.pressure, facts.gates.comparingTolerations) ?? forbiddenSysctl(pod, facts.sysctls);
  if (early !== undefined) return { kind: "rejected", rejection: early };
  const { node } = facts;
  if (node === undefined) return deferred("WaitingForNode", "what this node can give is not known yet");
  const fitting = judgeFit(pod, beside, { ...facts, node });
  if (fitting.kind === "rejected" || fitting.kind === "misplaced") return fitting;
  // Also of a critical pod: nothing ends for one that is then turned away.
  const late =
    unenforcedApparmor(pod, facts) ??
    unsupportedPodResources(pod, facts) ??
    undeclaredFeatures(pod, facts.declaredFeatures) ??
    shuttingDown(facts) ??
    notBuilt(pod, facts.volumeSources);
  if (late !== undefined) return { kind: "rejected", rejection: late };
  const name = runtimeClassOf(pod);
  if (name !== undefined && !facts.knowsRuntimeClasses) {
    return deferred("WaitingForRuntimeClass", `RuntimeClass ${name}: no list of them has come yet`);
  }
  return fitting;
}

const deferred = (reason: Deferral["reason"], message: string): Judgement => ({
  kind: "deferred",
  deferral: { reason, message },
});

type WithNode = NodeForPods & { readonly node: Node };

/** Whether there is room and the node is one it may be on. */
function judgeFit(pod: Pod, beside: Beside, facts: WithNode): Judgement {
  const { node } = facts;
  const unfit = wrongOperatingSystem(pod) ?? unsupportedGroupsPolicy(pod, facts);
  if (unfit !== undefined) return { kind: "rejected", rejection: unfit };
  const allocatable = node.status?.allocatable ?? {};
  const short = shortages(pod, beside.staying, allocatable);
  const [elsewhere, ...others] = misfits(pod, beside, facts);
  if (elsewhere !== undefined) {
    const isCritical = isCriticalPod(pod);
    // What a critical pod lacks in resources is no reason: room would be made.
    if (short.length > 0 && !isCritical) return { kind: "rejected", rejection: outOf(short) };
    const onlyLabels = short.length === 0 && others.length === 0 && elsewhere.reason === NODE_AFFINITY;
    return { kind: onlyLabels ? "misplaced" : "rejected", rejection: elsewhere };
  }
  if (short.length > 0)
    return isCriticalPod(pod) ? preempt(pod, beside, short) : { kind: "rejected", rejection: outOf(short) };
  const { staying, leaving } = beside;
  const hasRoomNow = leaving.length === 0 || shortages(pod, [...staying, ...leaving], allocatable).length === 0;
  return hasRoomNow ? { kind: "admitted" } : { kind: "deferred", deferral: waitingFor(beside.leaving) };
}

const NODE_AFFINITY = "NodeAffinity";

/** Why it may not be here whatever room there is, in the order in which they are told. */
function misfits(pod: Pod, { staying, leaving }: Beside, { node, gates }: WithNode): readonly Rejection[] {
  const failed = (name: string, why: string): Rejection => ({
    reason: name,
    message: `Predicate ${name} failed: ${why}`,
  });
  const all = [
    selectsNode(pod, node) ? undefined : failed(NODE_AFFINITY, "node(s) didn't match Pod's node affinity/selector"),
    namesNode(pod, node) ? undefined : failed("NodeName", "node(s) didn't match the requested node name"),
    hostPortsTaken(pod, [...staying, ...leaving]),
    toleratesNode(pod, node, gates.comparingTolerations)
      ? undefined
      : failed("TaintToleration", "node(s) had taints that the pod didn't tolerate"),
  ];
  return all.filter((one) => one !== undefined);
}

const outOf = ([first]: readonly Shortage[]): Rejection => ({
  reason: `OutOf${first?.resource}`,
  message: first === undefined ? "" : shortageMessage(first),
});

function preempt(pod: Pod, { staying, leaving }: Beside, short: readonly Shortage[]): Judgement {
  const chosen = choosePreempted(pod, staying, short);
  if (chosen.kind === "victims") {
    const deferral = waitingFor([...leaving, ...chosen.victims]);
    return { kind: "preempts", victims: chosen.victims, resource: short[0]?.resource ?? "", deferral };
  }
  const why = `preemption: error finding a set of pods to preempt: ${chosen.message}`;
  const message = `Unexpected error while attempting to recover from admission failure: ${why}`;
  return { kind: "rejected", rejection: { reason: "UnexpectedAdmissionError", message } };
}

const waitingFor = (leaving: readonly Pod[]): Deferral => {
  const names = leaving.map(podNameOfObject).map(({ namespace, name }) => `${namespace}/${name}`);
  return { reason: "WaitingForPreemption", message: `pods that make room have not ended yet: ${names.join(", ")}` };
};

const shuttingDown = ({ isShuttingDown }: NodeForPods): Rejection | undefined =>
  isShuttingDown ? { reason: "NodeShutdown", message: "Pod was rejected as the node is shutting down." } : undefined;
