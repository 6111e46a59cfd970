/**
 * Decides whether this node admits a pod beside the pods that it already admitted. A pod is admitted, rejected or
 * deferred, or it is undecidable because a fact is not known yet, unless it must be decided with what is known
 * (`mustDecide`). The checks run in the Go kubelet's order, so that of several reasons the same one is reported.
 */
import type { Node, Pod } from "../../api/gen/core-v1.ts";
import { runtimeClassOf } from "../container-config/runtime-handler.ts";
import { isCriticalPod } from "../pod/pod-identity.ts";
import { podNameOfObject } from "../pod/pod-names.ts";
import type { AdmissionContext } from "./admission-context.ts";
import { undeclaredFeatures } from "./declared-features.ts";
import { hostPortsTaken } from "./host-ports.ts";
import { namesNode, selectsNode, toleratesNode, underPressure, wrongOperatingSystem } from "./node-selection.ts";
import { unenforcedApparmor, unsupportedGroupsPolicy, unsupportedPodResources } from "./pod-features.ts";
import { choosePreempted } from "./preemption.ts";
import { type Shortage, shortageMessage, shortages } from "./resource-fit.ts";
import { forbiddenSysctl } from "./sysctls.ts";
import { unsupportedFields } from "./unsupported-fields.ts";
import type { Deferral, Rejection, Verdict } from "./verdict.ts";

/** The other pods on the node against which a pod is evaluated. */
export interface PodsOnNode {
  /** Admitted pods that have not terminated, and critical pods for which preemption is freeing resources. */
  readonly active: readonly Pod[];
  /** Admitted pods that are terminating because they were preempted. */
  readonly preempted: readonly Pod[];
}

export type AdmissionResult =
  /** The pod's allocation is decided afterwards. */
  | { readonly kind: "admitted" }
  | Exclude<Verdict, { kind: "admitted" }>
  /** The pod waits for a fact about the node or the cluster. `fits`: it fits beside the other pods. */
  | { readonly kind: "undecidable"; readonly deferral: Deferral; readonly fits: boolean }
  /** Only the node's labels do not match; the API server may have newer labels than our copy of the node. */
  | { readonly kind: "labelMismatch"; readonly rejection: Rejection }
  /** The pod is critical, and these victims must terminate before it can be admitted. */
  | {
      readonly kind: "preempts";
      readonly victims: readonly Pod[];
      /** The first resource that is insufficient. */
      readonly resource: string;
      readonly deferral: Deferral;
    };

export function admit(pod: Pod, others: PodsOnNode, context: AdmissionContext): AdmissionResult {
  const early =
    underPressure(pod, context.pressure, context.gates.comparingTolerations) ?? forbiddenSysctl(pod, context.sysctls);
  if (early !== undefined) return { kind: "rejected", rejection: early };
  const { mustDecide } = context;
  const node = context.node ?? (mustDecide ? context.nodeAsIs : undefined);
  if (node === undefined) return undecidable("WaitingForNode", "what this node can give is not known yet", false);
  const fit = checkFit(pod, others, { ...context, node });
  if (fit.kind === "rejected" || fit.kind === "labelMismatch") return fit;
  // These checks apply to critical pods too: no pod is preempted for a critical pod that is then rejected.
  const late =
    unenforcedApparmor(pod, context) ??
    unsupportedPodResources(pod, context) ??
    undeclaredFeatures(pod, context.declaredFeatures) ??
    shuttingDown(context) ??
    unsupportedFields(pod, context.volumeSources);
  if (late !== undefined) return { kind: "rejected", rejection: late };
  const name = runtimeClassOf(pod);
  if (name !== undefined && !context.knowsRuntimeClasses && !mustDecide) {
    return undecidable("WaitingForRuntimeClass", `RuntimeClass ${name}: no list of them has come yet`, true);
  }
  return fit;
}

const undecidable = (reason: Deferral["reason"], message: string, fits: boolean): AdmissionResult => ({
  kind: "undecidable",
  fits,
  deferral: { reason, message },
});

type WithNode = AdmissionContext & { readonly node: Node };

/** Checks the operating system, the groups policy, free resources, and whether the pod may run on this node. */
function checkFit(pod: Pod, others: PodsOnNode, context: WithNode): AdmissionResult {
  const { node } = context;
  const unfit = wrongOperatingSystem(pod) ?? unsupportedGroupsPolicy(pod, context);
  if (unfit !== undefined) return { kind: "rejected", rejection: unfit };
  const allocatable = node.status?.allocatable ?? {};
  const short = shortages(pod, others.active, allocatable);
  const [misfit, ...otherMisfits] = misfits(pod, others, context);
  if (misfit !== undefined) {
    const isCritical = isCriticalPod(pod);
    // Insufficient resources do not reject a critical pod, because preemption would free them.
    if (short.length > 0 && !isCritical) return { kind: "rejected", rejection: insufficient(short) };
    const onlyLabels = short.length === 0 && otherMisfits.length === 0 && misfit.reason === NODE_AFFINITY;
    return { kind: onlyLabels ? "labelMismatch" : "rejected", rejection: misfit };
  }
  if (short.length > 0)
    return isCriticalPod(pod) ? preempt(pod, others, short) : { kind: "rejected", rejection: insufficient(short) };
  const { active, preempted } = others;
  const fitsNow = preempted.length === 0 || shortages(pod, [...active, ...preempted], allocatable).length === 0;
  return fitsNow ? { kind: "admitted" } : { kind: "deferred", deferral: waitingFor(others.preempted) };
}

const NODE_AFFINITY = "NodeAffinity";

/** Reasons other than resources that keep a pod off this node, in the order in which they are reported. */
function misfits(pod: Pod, { active, preempted }: PodsOnNode, { node, gates }: WithNode): readonly Rejection[] {
  const failed = (name: string, why: string): Rejection => ({
    reason: name,
    message: `Predicate ${name} failed: ${why}`,
  });
  const all = [
    selectsNode(pod, node) ? undefined : failed(NODE_AFFINITY, "node(s) didn't match Pod's node affinity/selector"),
    namesNode(pod, node) ? undefined : failed("NodeName", "node(s) didn't match the requested node name"),
    hostPortsTaken(pod, [...active, ...preempted]),
    toleratesNode(pod, node, gates.comparingTolerations)
      ? undefined
      : failed("TaintToleration", "node(s) had taints that the pod didn't tolerate"),
  ];
  return all.filter((one) => one !== undefined);
}

const insufficient = ([first]: readonly Shortage[]): Rejection => ({
  reason: `OutOf${first?.resource}`,
  message: first === undefined ? "" : shortageMessage(first),
});

function preempt(pod: Pod, { active, preempted }: PodsOnNode, short: readonly Shortage[]): AdmissionResult {
  const chosen = choosePreempted(pod, active, short);
  if (chosen.kind === "victims") {
    const deferral = waitingFor([...preempted, ...chosen.victims]);
    return { kind: "preempts", victims: chosen.victims, resource: short[0]?.resource ?? "", deferral };
  }
  const why = `preemption: error finding a set of pods to preempt: ${chosen.message}`;
  const message = `Unexpected error while attempting to recover from admission failure: ${why}`;
  return { kind: "rejected", rejection: { reason: "UnexpectedAdmissionError", message } };
}

const waitingFor = (preempted: readonly Pod[]): Deferral => {
  const names = preempted.map(podNameOfObject).map(({ namespace, name }) => `${namespace}/${name}`);
  return { reason: "WaitingForPreemption", message: `pods that make room have not ended yet: ${names.join(", ")}` };
};

const shuttingDown = ({ isShuttingDown }: AdmissionContext): Rejection | undefined =>
  isShuttingDown ? { reason: "NodeShutdown", message: "Pod was rejected as the node is shutting down." } : undefined;
