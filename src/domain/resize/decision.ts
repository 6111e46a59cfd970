/**
 * Decides whether a running pod is granted the resources that its spec now requests. A resize that this node can never
 * grant is infeasible; one that it cannot grant now is deferred and retried. A resize passes the same checks as a new
 * pod, in the same order: of several reasons, the Go kubelet's is reported.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { compareQuantities, type Quantity } from "../../base/quantity.ts";
import { admit, type PodsOnNode } from "../admission/admission.ts";
import type { AdmissionContext } from "../admission/admission-context.ts";
import { specOf } from "../resources/pod-resources.ts";
import { podQosClass } from "../resources/qos-class.ts";
import { parseResourceList, type ResourceList } from "../resources/resource-list.ts";
import { mayHaveSwap } from "../resources/swap.ts";
import { resizable, sameRequirements } from "./allocation.ts";
import { whoHoldsIt } from "./waiting-for.ts";

/** The node settings that decide whether a change is possible at all. */
export interface ResizeSettings {
  readonly cpuManagerPolicy: string;
  readonly memoryManagerPolicy: string;
  /** Containers may use swap. */
  readonly limitedSwap: boolean;
  readonly podLevelResizes: boolean;
}

export type ResizeDecision =
  | { readonly kind: "accepted" }
  /** `detail`: the label value in the metric. */
  | { readonly kind: "infeasible"; readonly message: string; readonly detail: string }
  /** `reason` and `message` are those of a rejected new pod; `waitsFor` follows the message where people read it. */
  | { readonly kind: "deferred"; readonly reason: string; readonly message: string; readonly waitsFor: string }
  /** The pod is critical, and these pods must terminate before it gets the resources. */
  | { readonly kind: "preempts"; readonly victims: readonly Pod[]; readonly resource: string; readonly message: string }
  /** The node's resources are not known yet. */
  | { readonly kind: "unknown" };

/** `desired`: the pod as its spec requests. `allocated`: the pod as allocated. `others`: the other pods. */
export function decideResize(
  desired: Pod,
  allocated: Pod,
  others: PodsOnNode,
  context: AdmissionContext,
  settings: ResizeSettings,
): ResizeDecision {
  const never = infeasible(desired, allocated, settings);
  if (never !== undefined) return { kind: "infeasible", ...never };
  const result = admit(desired, others, context);
  switch (result.kind) {
    case "admitted":
      return { kind: "accepted" };
    case "rejected":
    case "labelMismatch": {
      const { reason, message } = result.rejection;
      return { kind: "deferred", reason, message, waitsFor: whoHoldsIt(desired, others.active, context.node) };
    }
    case "preempts": {
      const { victims, resource, deferral } = result;
      return { kind: "preempts", victims, resource, message: deferral.message };
    }
    case "deferred": {
      const { reason, message } = result.deferral;
      return { kind: "deferred", reason, message, waitsFor: "" };
    }
    case "undecidable":
      return { kind: "unknown" };
  }
}

type Never = Pick<Extract<ResizeDecision, { kind: "infeasible" }>, "message" | "detail">;

function infeasible(desired: Pod, allocated: Pod, settings: ResizeSettings): Never | undefined {
  const { cpuManagerPolicy, memoryManagerPolicy, limitedSwap, podLevelResizes } = settings;
  if (limitedSwap && changesSwap(desired, allocated)) {
    return { message: "In-place resize of containers with swap is not supported.", detail: "swap_limitation" };
  }
  if (!podLevelResizes && !sameRequirements(specOf(desired).resources, specOf(allocated).resources)) {
    const message = "InPlacePodLevelResourcesVerticalScaling is disabled";
    return { message, detail: "plr_feature_gate_off" };
  }
  if (podQosClass(desired) !== "Guaranteed") return undefined;
  const alongside = (what: string, policy: string) =>
    `Resize is infeasible for Guaranteed Pods alongside ${what} Manager policy "${policy}"`;
  if (cpuManagerPolicy === "static" && requestsDiffer(desired, allocated, "cpu")) {
    return { message: alongside("CPU", cpuManagerPolicy), detail: "guaranteed_pod_cpu_manager_static_policy" };
  }
  if (memoryManagerPolicy === "Static" && requestsDiffer(desired, allocated, "memory")) {
    return { message: alongside("Memory", memoryManagerPolicy), detail: "guaranteed_pod_memory_manager_static_policy" };
  }
  return undefined;
}

const requestsDiffer = (desired: Pod, allocated: Pod, resource: string): boolean =>
  pairs(desired, allocated).some(([wants, has]) => !sameRequest(wants, has, resource));

/** A container's swap limit follows from its memory, and cannot be changed while it runs. */
const changesSwap = (desired: Pod, allocated: Pod): boolean =>
  pairs(desired, allocated).some(
    ([wants, has]) =>
      !sameRequest(wants, has, "memory") &&
      !restartsFor(has, "memory") &&
      (mayHaveSwap(desired, wants) || mayHaveSwap(allocated, has)),
  );

export const restartsFor = ({ resizePolicy = [] }: Container, resource: string): boolean =>
  resizePolicy.find(({ resourceName }) => resourceName === resource)?.restartPolicy === "RestartContainer";

function pairs(desired: Pod, allocated: Pod): readonly (readonly [Container, Container])[] {
  const known = new Map(resizable(allocated).map((container) => [container.name, container]));
  return resizable(desired).flatMap((wants) => {
    const has = known.get(wants.name);
    return has === undefined ? [] : [[wants, has] as const];
  });
}

const sameRequest = (a: Container, b: Container, resource: string): boolean => {
  const [one, other] = [parseResourceList(a.resources?.requests), parseResourceList(b.resources?.requests)];
  return compareQuantities(amount(one, resource), amount(other, resource)) === 0;
};

const ZERO: Quantity = { nanos: 0n, format: "DecimalSI" };
const amount = (list: ResourceList, resource: string): Quantity => list.get(resource) ?? ZERO;
