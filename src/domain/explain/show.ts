/** An explanation as text for a terminal of 120 columns, and as JSON for programs. */
import type { Explanation } from "./explain.ts";
import { shortDuration, shortTime } from "./format-time.ts";
import { COLUMNS, hanging, jsonText, printable, wrapped } from "./terminal-text.ts";
import type { TimelineLine } from "./timeline.ts";

const GAP = "  ";

export function explanationText(explanation: Explanation, nowWallMs: number): string {
  const { pod, uid, sentence, timeline, earlier } = explanation;
  const lines = [
    `Pod ${printable(pod)}, UID ${uid}, as this node knows it at ${shortTime(nowWallMs, nowWallMs)} UTC:`,
    "",
    ...wrapped(sentence, COLUMNS),
    "",
    ...timeline.flatMap((line) => timelineText(line, nowWallMs)),
  ];
  if (earlier.length > 0) lines.push("", "Before that, pods of the same name:");
  for (const { uid: old, fromWallMs, toWallMs, sentence: said } of earlier) {
    const when = `${shortTime(fromWallMs, nowWallMs)} to ${shortTime(toWallMs, nowWallMs)}`;
    lines.push(...hanging(`${GAP}${old}, ${when}: `, said));
  }
  return `${lines.join("\n")}\n`;
}

function timelineText({ wallMs, what, durationMs, times, lastWallMs }: TimelineLine, now: number): readonly string[] {
  const took = durationMs === undefined ? "" : `, ${shortDuration(durationMs)}`;
  const often = times === 1 ? "" : ` (${times} times, last at ${shortTime(lastWallMs, now)})`;
  return hanging(`${shortTime(wallMs, now)}${GAP}`, `${what}${took}${often}`);
}

export function explanationJson(explanation: Explanation): string {
  const { pod, uid, sentence, timeline, earlier } = explanation;
  const at = (wallMs: number) => new Date(wallMs).toISOString();
  const shown = {
    pod,
    uid,
    sentence,
    timeline: timeline.map(({ wallMs, what, durationMs, times, lastWallMs }) => ({
      at: at(wallMs),
      what,
      durationMs,
      times,
      lastAt: at(lastWallMs),
    })),
    earlier: earlier.map(({ uid: old, fromWallMs, toWallMs, sentence: said }) => ({
      uid: old,
      from: at(fromWallMs),
      to: at(toWallMs),
      sentence: said,
    })),
  };
  return jsonText(shown);
}
