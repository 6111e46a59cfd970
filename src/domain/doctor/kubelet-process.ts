/** Recognizes kubelet processes by their command lines. */

/** The first argument of a helper process that an agent starts, which is not another agent. */
const HELPER = "volume-helper";

/** "other": a kubelet that is not Deckhand. Undefined: not a kubelet. */
export function kubeletKind(args: readonly string[], executable: string): "deckhand" | "other" | undefined {
  const [called = "", first = ""] = args;
  const name = lastPart(called);
  if (name === "kubelet" && first === HELPER) return undefined;
  if (name === "kubelet") return lastPart(executable) === "deckhand" ? "deckhand" : "other";
  if (name === "deckhand") return first === "kubelet" ? "deckhand" : undefined;
  // Run by Node from its sources or from the bundle: the script is the first argument that has one of these names.
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
