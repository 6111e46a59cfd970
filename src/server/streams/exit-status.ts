/**
 * The exit status of a command: read from the runtime's error stream (v4.channel.k8s.io) and written for v5 clients. A
 * server always sends a status, so a missing one means a broken connection, never success.
 */
import { errorText } from "../../base/error-text.ts";

export type Ended =
  | { readonly kind: "success" }
  | { readonly kind: "exitCode"; readonly code: number }
  | { readonly kind: "failed"; readonly message: string };

const NON_ZERO = "NonZeroExitCode";
const EXIT_CODE = "ExitCode";

export function readEnd(message: Buffer): Ended {
  if (message.length === 0) return failed("the runtime ended the stream without saying how the command ended");
  let status: unknown;
  try {
    status = JSON.parse(message.toString("utf8"));
  } catch (error) {
    return failed(`error stream protocol error: ${errorText(error)} in ${JSON.stringify(message.toString("utf8"))}`);
  }
  const outcome = field(status, "status");
  if (outcome === "Success") return { kind: "success" };
  if (outcome !== "Failure") return failed("error stream protocol error: unknown error");
  if (field(status, "reason") === NON_ZERO) return exitCode(field(status, "details"));
  const words = field(status, "message");
  return failed(typeof words === "string" ? words : "");
}

function exitCode(details: unknown): Ended {
  if (details === undefined) return failed("error stream protocol error: details must be set");
  const causes = field(details, "causes");
  const all: readonly unknown[] = Array.isArray(causes) ? causes : [];
  const cause = all.find((one) => field(one, "reason") === EXIT_CODE);
  if (cause === undefined) return failed(`error stream protocol error: no ${EXIT_CODE} cause given`);
  const text = field(cause, "message");
  const code = typeof text === "string" && /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(code <= 255)) return failed(`error stream protocol error: invalid exit code value ${JSON.stringify(text)}`);
  return { kind: "exitCode", code };
}

export const failed = (message: string): Ended => ({ kind: "failed", message });

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;

/** A Status object with the content and text of the Go kubelet's translation. */
export function statusText(end: Ended): string {
  const metadata = {};
  switch (end.kind) {
    case "success":
      return JSON.stringify({ metadata, status: "Success" });
    case "exitCode": {
      const message = `command terminated with non-zero exit code: command terminated with exit code ${end.code}`;
      const details = { causes: [{ reason: EXIT_CODE, message: String(end.code) }] };
      return JSON.stringify({ metadata, status: "Failure", message, reason: NON_ZERO, details });
    }
    case "failed": {
      const message = `Internal error occurred: ${end.message}`;
      const details = { causes: [{ message: end.message }] };
      return JSON.stringify({ metadata, status: "Failure", message, reason: "InternalError", details, code: 500 });
    }
  }
}
