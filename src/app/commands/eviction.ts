/**
 * `deckhand eviction what-if`: prints which pods the running agent would evict if other amounts were available. The
 * agent decides with the functions of real evictions; nothing is evicted.
 */
import { parseArgs } from "node:util";
import { parseWhatIfReport, whatIfText } from "../../domain/eviction/what-if-report.ts";
import type { AskAgent } from "../ask-agent.ts";
import { AGENT_FLAGS } from "../options/agent-flags.ts";
import { runAgentCommand } from "./agent-answer.ts";
import type { CommandIo } from "./io.ts";

const SIGNALS = {
  memory: "memory.available",
  "allocatable-memory": "allocatableMemory.available",
  nodefs: "nodefs.available",
  "nodefs-inodes": "nodefs.inodesFree",
  imagefs: "imagefs.available",
  "imagefs-inodes": "imagefs.inodesFree",
  pid: "pid.available",
} as const;

/** For the completion of shells. */
export const WHAT_IF_FLAGS: readonly string[] = Object.keys(SIGNALS).map((flag) => `--${flag}`);

const USAGE = `Usage: deckhand eviction what-if [--memory 80Mi] [--nodefs 5%] ... [-o text|json] [--root-dir DIRECTORY]

Prints which pods the running agent would evict if these amounts were available, in their order. Nothing is evicted. An
amount is a quantity or a percentage of the capacity. What is not given stays as it was measured.

      --memory AMOUNT              memory.available
      --allocatable-memory AMOUNT  allocatableMemory.available
      --nodefs AMOUNT              nodefs.available
      --nodefs-inodes AMOUNT       nodefs.inodesFree
      --imagefs AMOUNT             imagefs.available
      --imagefs-inodes AMOUNT      imagefs.inodesFree
      --pid AMOUNT                 pid.available
  -o, --output text|json           output format (default text)
      --root-dir DIRECTORY         the agent's root directory (default ${AGENT_FLAGS["root-dir"].initial})

Exit codes: 0 ok, 1 no agent runs or it cannot tell, 2 usage error.
`;

/** The path of the answer on the agent's local socket. */
export const WHAT_IF = "/eviction/what-if";

export const whatIfCommand = (args: readonly string[], io: CommandIo, ask: AskAgent): Promise<number> =>
  runAgentCommand({ usage: USAGE, question, parse: parseWhatIfReport, text: whatIfText }, args, io, ask);

function question(args: readonly string[]) {
  const amount = { type: "string" } as const;
  const {
    output = "text",
    "root-dir": rootDir = AGENT_FLAGS["root-dir"].initial,
    ...amounts
  } = parseArgs({
    args: [...args],
    options: {
      output: { type: "string", short: "o" },
      "root-dir": { type: "string" },
      memory: amount,
      "allocatable-memory": amount,
      nodefs: amount,
      "nodefs-inodes": amount,
      imagefs: amount,
      "imagefs-inodes": amount,
      pid: amount,
    },
  }).values;
  const query = new URLSearchParams();
  for (const [flag, signal] of Object.entries(SIGNALS)) {
    const text = amounts[flag as keyof typeof SIGNALS];
    if (text !== undefined) query.set(signal, text);
  }
  if (query.size === 0) throw new Error("expected at least one amount");
  return { path: `${WHAT_IF}?${query.toString()}`, output, rootDir };
}
