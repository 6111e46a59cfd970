/** A log that keeps its lines for a test to inspect. */
import type { Log } from "../../src/ports/log.ts";

export interface KeptLog extends Log {
  readonly lines: readonly string[];
}

export function keptLog(): KeptLog {
  const lines: string[] = [];
  return {
    lines,
    info: (level, message, fields) => void lines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    error: (message, error, fields) =>
      void lines.push(
        `E ${message}: ${error instanceof Error ? error.message : String(error)} ${JSON.stringify(fields ?? {})}`,
      ),
  };
}
