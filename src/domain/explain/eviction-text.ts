/** The table behind an eviction: what was measured, and how the pods were ranked. */
import type { Decision } from "../journal/decisions.ts";

type Eviction = Extract<Decision, { kind: "evict" }>;

const CANDIDATES_SHOWN = 10;

/** Continues a sentence. Empty for a pod that exceeded a limit of its own. */
export function evictionText({ signal, measured, candidates }: Eviction): string {
  if (candidates.length === 0) return ` (${signal})`;
  const shown = candidates.slice(0, CANDIDATES_SHOWN).map(rankText);
  const more = candidates.length - shown.length;
  const value =
    measured === undefined
      ? signal
      : `${signal} was ${measured.available} of ${measured.capacity}, below ${measured.threshold} (${measured.computed})`;
  return ` (${value}; ranked for eviction: ${shown.join(", ")}${more > 0 ? `, and ${more} more` : ""})`;
}

function rankText({
  pod,
  priority,
  usage,
  request,
  exceedsRequest,
  evictable,
}: Eviction["candidates"][number]): string {
  const used = usage === undefined ? "usage unknown" : `usage ${usage}, request ${request}`;
  const notes = [used, `priority ${priority}`, ...(exceedsRequest ? ["exceeds its request"] : [])];
  return `${pod} (${notes.join(", ")}${evictable ? "" : ", never evicted"})`;
}
