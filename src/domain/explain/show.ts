/** An explanation as text for a terminal of 120 columns, and as JSON for programs. */
import type { Explanation } from "./explain.ts";
import { shortDuration, shortTime } from "./moments.ts";
import type { TimelineLine } from "./timeline.ts";

const COLUMNS = 120;
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

function hanging(head: string, text: string): readonly string[] {
  const indent = Math.min(head.length, COLUMNS / 3);
  const [first = "", ...rest] = wrapped(`${head}${text}`, COLUMNS, indent);
  return [first, ...rest];
}

/**
 * Containers choose parts of the text, so characters that would move a terminal's cursor or change its colors are shown
 * as code points.
 */
const printable = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const point = (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
    return `\\u${point}`;
  });

/** Breaks at spaces where there are some; indents every line but the first. */
function wrapped(text: string, columns: number, indent = 0): readonly string[] {
  const lines: string[] = [];
  let left = printable(text.replaceAll(/\s*\n\s*/g, " "));
  while (left.length > columns) {
    const at = left.lastIndexOf(" ", columns);
    const end = at > indent + 1 ? at : columns;
    lines.push(left.slice(0, end));
    left = " ".repeat(indent) + left.slice(end).trimStart();
  }
  return [...lines, left];
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
  return `${JSON.stringify(shown, null, 2)}\n`;
}
