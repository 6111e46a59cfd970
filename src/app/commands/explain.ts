/**
 * `deckhand explain pod <namespace>/<name>` and `deckhand explain node`: explain the state of a pod and how the pod got
 * there, and the state of the node. They read the journal's files and the free space of their file system. They need no
 * API server, no runtime and no agent, and they write nothing.
 */
import { parseArgs } from "node:util";
import { errorText } from "../../base/error-text.ts";
import {
  answerNode,
  answerPod,
  type ExplanationPorts,
  type Records,
  readRecords,
} from "../../controllers/explain/explanations.ts";
import type { Answer } from "../../domain/explain/entry.ts";
import { nodeExplanationJson, nodeExplanationText } from "../../domain/explain/explain-node.ts";
import { explanationJson, explanationText } from "../../domain/explain/show.ts";
import { AGENT_FLAGS } from "../options/agent-flags.ts";
import type { CommandIo } from "./io.ts";
import { isOutputFormat, type OutputFormat, outputFault } from "./own-flags.ts";

const POD_USAGE = `Usage: deckhand explain pod [<namespace>/]<name> [-n NAMESPACE] [--uid UID] [-o text|json] [--root-dir DIRECTORY]

Explains the state of a pod on this node and how the pod got there. Works without the API server and without the agent.
\`deckhand why pod\` is the same command.

  -n, --namespace NAMESPACE   namespace of the pod (default: default)
      --uid UID               one of several pods that had the name one after the other (default: the newest)
  -o, --output text|json      output format (default text)
      --root-dir DIRECTORY    the agent's root directory (default ${AGENT_FLAGS["root-dir"].initial})

Exit codes: 0 ok, 1 the pod is unknown or the journal is unreadable, 2 usage error.
`;

const NODE_USAGE = `Usage: deckhand explain node [-o text|json] [--root-dir DIRECTORY]

Explains the state of this node: its conditions, since when and why, and what the agent waits for. Works without the API
server and without the agent.

  -o, --output text|json      output format (default text)
      --root-dir DIRECTORY    the agent's root directory (default ${AGENT_FLAGS["root-dir"].initial})

Exit codes: 0 ok, 1 the journal is empty or unreadable, 2 usage error.
`;

const FOUND = 0;
const NOT_FOUND = 1;
const USAGE_ERROR = 2;

interface Asked {
  readonly output: OutputFormat;
  readonly rootDir: string;
}

interface AskedPod extends Asked {
  readonly pod: string;
  readonly uid: string | undefined;
}

export const explainPodCommand = (args: readonly string[], io: CommandIo, ports: ExplanationPorts): Promise<number> => {
  const nowWallMs = io.clock.wallMs();
  return answer(args, io, ports, {
    usage: POD_USAGE,
    parse: parsePodQuestion,
    answer: (records, asked) => answerPod(records, { ...asked, nowWallMs }),
    text: (explanation) => explanationText(explanation, nowWallMs),
    json: explanationJson,
  });
};

export const explainNodeCommand = (
  args: readonly string[],
  io: CommandIo,
  ports: ExplanationPorts,
): Promise<number> => {
  const nowWallMs = io.clock.wallMs();
  return answer(args, io, ports, {
    usage: NODE_USAGE,
    parse: parseNodeQuestion,
    answer: answerNode,
    text: (explanation) => nodeExplanationText(explanation, nowWallMs),
    json: nodeExplanationJson,
  });
};

interface Subject<A extends Asked, T> {
  readonly usage: string;
  /** Throws an error that says what is wrong with the arguments. */
  readonly parse: (args: readonly string[]) => A;
  readonly answer: (records: Records, asked: A) => Answer<T>;
  readonly text: (explanation: T) => string;
  readonly json: (explanation: T) => string;
}

async function answer<A extends Asked, T>(
  args: readonly string[],
  io: CommandIo,
  ports: ExplanationPorts,
  subject: Subject<A, T>,
): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    io.stdout(subject.usage);
    return FOUND;
  }
  let asked: A;
  try {
    asked = subject.parse(args);
  } catch (error) {
    io.stderr(`error: ${errorText(error)}\n\n${subject.usage}`);
    return USAGE_ERROR;
  }
  let records: Records;
  try {
    records = await readRecords(ports, asked.rootDir);
  } catch (error) {
    io.stderr(`error: failed to read the journal: ${errorText(error)}\n`);
    return NOT_FOUND;
  }
  const answered = subject.answer(records, asked);
  if (answered.kind === "unknown") {
    io.stderr(answered.text);
    return NOT_FOUND;
  }
  const { explanation } = answered;
  io.stdout(asked.output === "json" ? subject.json(explanation) : subject.text(explanation));
  return FOUND;
}

const COMMON_FLAGS = {
  output: { type: "string", short: "o", default: "text" },
  "root-dir": { type: "string", default: AGENT_FLAGS["root-dir"].initial },
} as const;

function parsePodQuestion(args: readonly string[]): AskedPod {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { ...COMMON_FLAGS, uid: { type: "string" }, namespace: { type: "string", short: "n" } },
  });
  const [named = "", ...more] = positionals;
  if (!/^(?:[^/]+\/)?[^/]+$/.test(named) || more.length > 0) {
    throw new Error("expected one argument: <name> or <namespace>/<name>");
  }
  const { uid, namespace } = values;
  const isQualified = named.includes("/");
  if (isQualified && namespace !== undefined && !named.startsWith(`${namespace}/`)) {
    throw new Error(`--namespace ${namespace} contradicts ${named}`);
  }
  const pod = isQualified ? named : `${namespace ?? "default"}/${named}`;
  return { ...common(values), pod, uid };
}

const parseNodeQuestion = (args: readonly string[]): Asked =>
  common(parseArgs({ args: [...args], options: COMMON_FLAGS }).values);

function common({ output, "root-dir": rootDir }: Readonly<Record<keyof typeof COMMON_FLAGS, string>>): Asked {
  if (!isOutputFormat(output)) throw new Error(outputFault(output));
  return { output, rootDir: rootDir.replace(/(?<=.)\/+$/, "") };
}
