/**
 * A command that asks the running agent over its local socket: prints its help, what the agent answered as text or JSON,
 * or why it did not answer.
 */
import { errorText } from "../../base/error-text.ts";
import type { AskAgent } from "../ask-agent.ts";
import type { CommandIo } from "./io.ts";
import { isOutputFormat, outputFault } from "./own-flags.ts";

const FAILED = 1;
const USAGE_ERROR = 2;

/** What the user typed. */
interface Question {
  /** The path on the agent's local socket, with its query. */
  readonly path: string;
  readonly output: string;
  readonly rootDir: string;
}

export interface AgentCommand<Report> {
  readonly usage: string;
  /** Throws an error about what cannot be used. */
  readonly question: (args: readonly string[]) => Question;
  readonly parse: (body: string) => Report;
  readonly text: (report: Report) => string;
}

/** Returns the exit code. */
export async function runAgentCommand<Report>(
  { usage, question, parse, text }: AgentCommand<Report>,
  args: readonly string[],
  io: CommandIo,
  ask: AskAgent,
): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    io.stdout(usage);
    return 0;
  }
  let asked: Question;
  try {
    asked = question(args);
    if (!isOutputFormat(asked.output)) throw new Error(outputFault(asked.output));
  } catch (error) {
    io.stderr(`error: ${errorText(error)}\n\n${usage}`);
    return USAGE_ERROR;
  }
  const rootDir = asked.rootDir.replace(/(?<=.)\/+$/, "");
  const answer = await ask(rootDir, asked.path);
  switch (answer.kind) {
    case "noAgent":
      io.stderr(`error: no agent runs with the root directory ${rootDir}: nothing listens on ${answer.path}\n`);
      return FAILED;
    case "refused":
      io.stderr(`error: ${answer.why}\n`);
      return USAGE_ERROR;
    case "failed":
      io.stderr(`error: ${answer.why}\n`);
      return FAILED;
    case "answered": {
      const report = parse(answer.body);
      io.stdout(asked.output === "json" ? `${JSON.stringify(report, undefined, 2)}\n` : text(report));
      return 0;
    }
  }
}
