/** Prints what the running agent answered to a command, as text or JSON, or why it did not answer. */
import type { AgentAnswer } from "../ask-agent.ts";
import type { CommandIo } from "./io.ts";
import type { OutputFormat } from "./own-flags.ts";

const FAILED = 1;

interface Asked {
  readonly io: CommandIo;
  readonly rootDir: string;
  readonly output: OutputFormat;
}

/** Returns the exit code. */
export function printAnswer<Report>(
  answer: AgentAnswer,
  { io, rootDir, output }: Asked,
  { parse, text }: { readonly parse: (body: string) => Report; readonly text: (report: Report) => string },
): number {
  switch (answer.kind) {
    case "noAgent":
      io.stderr(`error: no agent runs with the root directory ${rootDir}: nothing listens on ${answer.path}\n`);
      return FAILED;
    case "failed":
      io.stderr(`error: ${answer.why}\n`);
      return FAILED;
    case "answered": {
      const report = parse(answer.body);
      io.stdout(output === "json" ? `${JSON.stringify(report, undefined, 2)}\n` : text(report));
      return 0;
    }
  }
}
