/** Traces a pod worker's syncs with the span names and attributes of the Go kubelet. Each sync is a separate trace. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { inSpan } from "../../concurrency/in-span.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import { isStatusOnlyUpdate } from "../../domain/pod/status-only-update.ts";
import { noTracer, type Span, type SpanStart, type Tracer } from "../../ports/tracer.ts";
import type { PodState } from "./pod-state.ts";

const SCOPE = "k8s.io/kubernetes/pkg/kubelet";

type PodStep = "syncPod" | "syncTerminatingPod" | "syncTerminatedPod";

/** A pod that no source has is not traced: its name is unknown. */
export function inPodSpan<T>(
  tracer: Tracer,
  step: PodStep,
  state: PodState,
  run: (span: Span) => Promise<T>,
): Promise<T> {
  const { pod } = state;
  if (pod === undefined) return inSpan(noTracer, { scope: SCOPE, name: step }, run);
  return inSpan(tracer, startOf(step, pod, state), run);
}

function startOf(step: PodStep, pod: Pod, state: PodState): SpanStart {
  const { uid, name, namespace } = podNameOfObject(pod);
  const attributes = {
    "k8s.pod.uid": uid,
    "k8s.pod": `${namespace}/${name}`,
    "k8s.pod.name": name,
    ...(step === "syncPod" ? { "k8s.pod.update_type": updateType(pod, state) } : {}),
    "k8s.namespace.name": namespace,
  };
  return { scope: SCOPE, name: step, attributes, parent: "none" };
}

/** What changed about the pod since its last sync: everything, something, or nothing. */
function updateType(pod: Pod, state: PodState): "create" | "update" | "sync" {
  const before = state.reports.tracedPod;
  state.reports.tracedPod = pod;
  if (before === undefined) return "create";
  return before === pod || isStatusOnlyUpdate(before, pod) ? "sync" : "update";
}
