/** Selects the runtime handler of a pod: the one of its RuntimeClass, or the default. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { RuntimeClass } from "../../api/gen/node-v1.ts";

/** By name; undefined until the first list. */
export type RuntimeClasses = ReadonlyMap<string, RuntimeClass> | undefined;

export type HandlerAnswer =
  /** "": the default handler. */
  { readonly kind: "handler"; readonly handler: string } | { readonly kind: "missing"; readonly message: string };

/** The key to wait for the RuntimeClasses as a whole; other keys are those of objects. */
export const RUNTIME_CLASSES_KEY = "runtimeClasses";

export const runtimeClassOf = ({ spec }: Pod): string | undefined => spec?.runtimeClassName || undefined;

export function runtimeHandler(pod: Pod, classes: RuntimeClasses): HandlerAnswer {
  const name = runtimeClassOf(pod);
  if (name === undefined) return { kind: "handler", handler: "" };
  // As in the Go kubelet, a class that is not listed yet is missing. The pod waited for the list before.
  const found = classes?.get(name);
  if (found === undefined) return { kind: "missing", message: `runtimeclass.node.k8s.io "${name}" not found` };
  return { kind: "handler", handler: found.handler };
}
