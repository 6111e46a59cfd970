/** What the tools' exit codes and output mean to the port. The tools run in the C locale. */
import type { BlockFormat, CheckOutcome, MountErrorCode } from "../../ports/mounts.ts";
import type { ToolCall } from "./tool-arguments.ts";

export type ToolResult =
  | { readonly kind: "exited"; readonly code: number; readonly stdout: string; readonly output: string }
  | { readonly kind: "killed"; readonly signal: string; readonly output: string }
  /** The tool is not installed. */
  | { readonly kind: "missing" };

/** How the Go kubelet reports the end of a tool. */
function ending(result: ToolResult, command: string): string {
  switch (result.kind) {
    case "exited":
      return `exit status ${result.code}`;
    case "killed":
      return `signal: ${result.signal}`;
    case "missing":
      return `exec: "${command}": executable file not found in $PATH`;
  }
}

const outputOf = (result: ToolResult): string => (result.kind === "missing" ? "" : result.output);

export const mountFailure = (call: ToolCall, result: ToolResult): string =>
  [
    `mount failed: ${ending(result, call.command)}`,
    `Mounting command: ${call.command}`,
    `Mounting arguments: ${call.args.join(" ")}`,
    `Output: ${outputOf(result)}`,
  ].join("\n");

/** The Go kubelet's message, and the process that holds the mount. */
export const unmountFailure = (path: string, result: ToolResult, holder?: string): string =>
  [
    `unmount failed: ${ending(result, "umount")}`,
    `Unmounting arguments: ${path}`,
    `Output: ${outputOf(result)}`,
    ...(holder === undefined ? [] : [`Held by ${holder}`]),
  ].join("\n");

export const toolFailure = (call: ToolCall, result: ToolResult): string =>
  `${call.command} ${call.args.join(" ")}: ${ending(result, call.command)}: ${outputOf(result)}`.trimEnd();

const WORDS: readonly (readonly [RegExp, MountErrorCode])[] = [
  [/is busy|already mounted|mount point busy/i, "busy"],
  [/does not exist|no such file or directory|no such device or address/i, "notFound"],
  [/permission denied|must be superuser|operation not permitted/i, "notPermitted"],
  [/read-only|write-protected/i, "readOnly"],
  [/no space left/i, "noSpace"],
];

export const codeOfOutput = (result: ToolResult): MountErrorCode =>
  WORDS.find(([pattern]) => pattern.test(outputOf(result)))?.[1] ?? "other";

export const saysNotMounted = (result: ToolResult): boolean => /not mounted/.test(outputOf(result));

/** Undefined: the tool could not tell. Code 2 means "found nothing", also if a device could not be read to the end. */
export function parseProbe(result: ToolResult): BlockFormat | undefined {
  if (result.kind !== "exited" || (result.code !== 0 && result.code !== 2)) return undefined;
  if (result.code === 2) return { type: undefined, partitioned: false };
  const values = new Map(
    result.stdout
      .split("\n")
      .filter((line) => line.includes("="))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const),
  );
  return { type: values.get("TYPE"), partitioned: values.has("PTTYPE") };
}

const REPAIRED = new Set([1, 2, 3]);

/**
 * Interpreted as in the Go kubelet: only a plain 4 keeps a disk from being mounted; anything above is a problem of the
 * tool.
 */
export function parseCheck(result: ToolResult): CheckOutcome {
  if (result.kind !== "exited") return "unavailable";
  if (result.code === 0) return "clean";
  if (REPAIRED.has(result.code)) return "repaired";
  return result.code === 4 ? "uncorrected" : "unavailable";
}
