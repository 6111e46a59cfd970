/**
 * `deckhand gc plan`: prints which images the next run of the running agent's image garbage collection would remove,
 * and why the others stay. The agent makes the plan; nothing is removed.
 */
import { parseArgs } from "node:util";
import { imageGcReportText, parseImageGcReport } from "../../domain/images/image-gc-report.ts";
import type { AskAgent } from "../ask-agent.ts";
import { AGENT_FLAGS } from "../options/agent-flags.ts";
import { runAgentCommand } from "./agent-answer.ts";
import type { CommandIo } from "./io.ts";

const USAGE = `Usage: deckhand gc plan [-o text|json] [--root-dir DIRECTORY]

Prints which images the agent's next run of image garbage collection would remove, in which order, and why the others stay.
It asks the running agent and removes nothing.

  -o, --output text|json      output format (default text)
      --root-dir DIRECTORY    the agent's root directory (default ${AGENT_FLAGS["root-dir"].initial})

Exit codes: 0 ok, 1 no agent runs or it cannot tell, 2 usage error.
`;

/** The path of the plan on the agent's local socket. */
export const GC_PLAN = "/gc/plan";

export const gcPlanCommand = (args: readonly string[], io: CommandIo, ask: AskAgent): Promise<number> =>
  runAgentCommand({ usage: USAGE, question, parse: parseImageGcReport, text: imageGcReportText }, args, io, ask);

function question(args: readonly string[]) {
  const { output, "root-dir": rootDir } = parseArgs({
    args: [...args],
    options: {
      output: { type: "string", short: "o", default: "text" },
      "root-dir": { type: "string", default: AGENT_FLAGS["root-dir"].initial },
    },
  }).values;
  return { path: GC_PLAN, output, rootDir };
}
