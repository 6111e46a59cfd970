/** What this machine is called: the name of the Node, of its lease, and the end of the names of mirror pods. */
export type NodeName =
  | { readonly kind: "name"; readonly name: string }
  /** The agent cannot start without one. */
  | { readonly kind: "refused"; readonly message: string };

/** `override` is what the operator gave; empty when nothing. */
export function nodeName(override: string, osHostname: string): NodeName {
  const name = (override === "" ? osHostname : override).trim().toLowerCase();
  if (name === "") return { kind: "refused", message: "empty hostname is invalid" };
  return { kind: "name", name };
}
