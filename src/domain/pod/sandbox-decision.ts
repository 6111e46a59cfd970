/** Decides whether a pod's sandbox is usable, or why it must be replaced. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { SandboxStatus } from "../runtime/sandbox.ts";
import type { PodRuntimeView } from "./runtime-view.ts";

export type SandboxDecision =
  | { readonly kind: "keep"; readonly sandbox: SandboxStatus }
  | { readonly kind: "replace"; readonly attempt: number; readonly why: SandboxFlaw };

export type SandboxFlaw = "none" | "severalReady" | "notReady" | "networkModeChanged" | "noAddress";

export function decideSandbox(pod: Pod, view: PodRuntimeView): SandboxDecision {
  const [newest] = view.sandboxes;
  if (newest === undefined) return { kind: "replace", attempt: 0, why: "none" };
  const why = flawOf(pod, newest, view);
  if (why === undefined) return { kind: "keep", sandbox: newest };
  // Above every attempt seen, also of sandboxes that are not ready: their names may still be in use.
  const attempt = Math.max(...view.sandboxes.map(({ metadata }) => metadata.attempt)) + 1;
  return { kind: "replace", attempt, why };
}

function flawOf(pod: Pod, newest: SandboxStatus, { sandboxes }: PodRuntimeView): SandboxFlaw | undefined {
  if (sandboxes.filter(({ state }) => state === "ready").length > 1) return "severalReady";
  if (newest.state !== "ready") return "notReady";
  const wanted = pod.spec?.hostNetwork === true ? "node" : "pod";
  if (newest.namespaces !== undefined && newest.namespaces.network !== wanted) return "networkModeChanged";
  if (wanted === "pod" && newest.ips.length === 0) return "noAddress";
  return undefined;
}
