/** Whether to use the image that is on the node, to pull it, or to refuse it. */
export type PullDecision = "use" | "pull" | "refuse";

/** Under "Always", an image on the node does not count and is not looked up. */
export const asksNode = (policy: string): boolean => policy !== "Always";

export function decidePull(policy: string, isPresent: boolean): PullDecision {
  if (!asksNode(policy)) return "pull";
  if (isPresent) return "use";
  return policy === "Never" ? "refuse" : "pull";
}
