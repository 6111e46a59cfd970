/** Which processes are kubelets, by how they were called. */

/** What an agent calls itself with for a helper process, which is not another agent. */
const HELPER = "volume-helper";

/** "other": a kubelet that is not this program. Undefined: no kubelet. */
export function kubeletKind(args: readonly string[], executable: string): "deckhand" | "other" | undefined {
  const [called = "", first = ""] = args;
  const name = lastPart(called);
  if (name === "kubelet" && first === HELPER) return undefined;
  if (name === "kubelet") return lastPart(executable) === "deckhand" ? "deckhand" : "other";
  if (name === "deckhand") return first === "kubelet" ? "deckhand" : undefined;
  // Run from its sources, or from the bundle, by Node: the script is the first that is no option of Node's.
  if (lastPart(executable) !== "node") return undefined;
  const script = args.findIndex(
    (arg, at) => at > 0 && /(?:\/src\/app\/main\.ts|\/deckhand(?:\.js)?|\/kubelet)$/.test(arg),
  );
  if (script < 0) return undefined;
  const next = args[script + 1];
  const isKubelet = lastPart(args[script] ?? "") === "kubelet" ? next !== HELPER : next === "kubelet";
  return isKubelet ? "deckhand" : undefined;
}

const lastPart = (path: string) => path.slice(path.lastIndexOf("/") + 1);
