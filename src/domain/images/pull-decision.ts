/** Whether an image is used as it is on the node, pulled, or neither. */
export type PullDecision = "use" | "pull" | "refuse";

/** Under "Always" what the node has does not count, and is not asked for. */
export const asksNode = (policy: string): boolean => policy !== "Always";

export function decidePull(policy: string, isPresent: boolean): PullDecision {
  if (!asksNode(policy)) return "pull";
  if (isPresent) return "use";
  return policy === "Never" ? "refuse" : "pull";
}
