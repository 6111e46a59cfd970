/**
 * `deckhand explain pod <namespace>/<name>`: explains the state of a pod and how the pod got there. It reads the
 * journal's files and the free space of their file system. It needs no API server, no runtime and no agent, and it
 * writes nothing.
 */
import { parseArgs } from "node:util";
import { errorText } from "../../base/error-text.ts";
import { lookAtJournal } from "../../controllers/journal/look.ts";
import { type Entry, toEntry } from "../../domain/explain/entry.ts";
import { type Explanation, explain, nearNames } from "../../domain/explain/explain.ts";
import { explanationJson, explanationText } from "../../domain/explain/show.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Machine } from "../../ports/machine.ts";
import { AGENT_FLAGS } from "../options/agent-flags.ts";
import type { CommandIo } from "./io.ts";

export interface ExplainPorts {
  readonly files: Pick<HostFiles, "list" | "read">;
  readonly machine: Pick<Machine, "filesystem">;
}

const USAGE = `Usage: deckhand explain pod [<namespace>/]<name> [-n NAMESPACE] [--uid UID] [-o text|json] [--root-dir DIRECTORY]

Explains the state of a pod on this node and how the pod got there. Works without the API server and without the agent.
\`deckhand why pod\` is the same command.

  -n, --namespace NAMESPACE   namespace of the pod (default: default)
      --uid UID               one of several pods that had the name one after the other (default: the newest)
  -o, --output text|json      output format (default text)
      --root-dir DIRECTORY    the agent's root directory (default ${AGENT_FLAGS["root-dir"].initial})

Exit codes: 0 ok, 1 the pod is unknown or the journal is unreadable, 2 usage error.
`;

const FOUND = 0;
const NOT_FOUND = 1;
const USAGE_ERROR = 2;
const NEAR_MAX = 5;
/** With less free space not even one record can be written. */
const FREE_BYTES_MIN = 4_096n;

interface Asked {
  readonly pod: string;
  readonly uid: string | undefined;
  readonly output: "text" | "json";
  readonly rootDir: string;
}

export async function explainPodCommand(args: readonly string[], io: CommandIo, ports: ExplainPorts): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    io.stdout(USAGE);
    return FOUND;
  }
  let asked: Asked;
  try {
    asked = parseQuestion(args);
  } catch (error) {
    io.stderr(`error: ${errorText(error)}\n\n${USAGE}`);
    return USAGE_ERROR;
  }
  const directory = `${asked.rootDir}/deckhand/journal`;
  let entries: readonly Entry[];
  try {
    entries = (await lookAtJournal(ports.files, directory)).flatMap((value) => toEntry(value) ?? []);
  } catch (error) {
    io.stderr(`error: failed to read the journal: ${errorText(error)}\n`);
    return NOT_FOUND;
  }
  const nowWallMs = io.clock.wallMs();
  const explanation = explain(entries, { ...asked, nowWallMs });
  const full = await whyNothingIsWritten(asked.rootDir, ports);
  if (explanation === undefined) {
    io.stderr(notKnown(asked, directory, entries, full));
    return NOT_FOUND;
  }
  const shown = full === undefined ? explanation : onFullDisk(explanation, full);
  io.stdout(asked.output === "json" ? explanationJson(shown) : explanationText(shown, nowWallMs));
  return FOUND;
}

/** Throws an error that says what is wrong with the arguments. */
function parseQuestion(args: readonly string[]): Asked {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      uid: { type: "string" },
      namespace: { type: "string", short: "n" },
      output: { type: "string", short: "o", default: "text" },
      "root-dir": { type: "string", default: AGENT_FLAGS["root-dir"].initial },
    },
  });
  const [named = "", ...more] = positionals;
  if (!/^(?:[^/]+\/)?[^/]+$/.test(named) || more.length > 0) {
    throw new Error("expected one argument: <name> or <namespace>/<name>");
  }
  const { output, uid, namespace } = values;
  const isQualified = named.includes("/");
  if (isQualified && namespace !== undefined && !named.startsWith(`${namespace}/`)) {
    throw new Error(`--namespace ${namespace} contradicts ${named}`);
  }
  if (output !== "text" && output !== "json") throw new Error(`--output is text or json, not ${output}`);
  const pod = isQualified ? named : `${namespace ?? "default"}/${named}`;
  return { pod, uid, output, rootDir: values["root-dir"].replace(/(?<=.)\/+$/, "") };
}

function notKnown({ pod, uid }: Asked, directory: string, entries: readonly Entry[], full: string | undefined): string {
  const others = uid === undefined ? [] : [...new Set(entries.filter((each) => each.pod === pod).map((e) => e.uid))];
  const near = nearNames(entries, pod, NEAR_MAX).filter((each) => each !== pod);
  const lines = [`${pod}${uid === undefined ? "" : ` with the UID ${uid}`} is not known to this node (${directory}).`];
  if (full !== undefined) lines.push(`${full}: the agent has recorded nothing since then.`);
  if (entries.length === 0) lines.push("The journal is empty. Is --root-dir correct?");
  if (others.length > 0) lines.push(`Known UIDs of pods with this name: ${others.join(", ")}`);
  if (near.length > 0) lines.push(`Did you mean: ${near.join(", ")}`);
  return `${lines.join("\n")}\n`;
}

/** Returns undefined if space is left, or if the file system cannot be inspected. */
async function whyNothingIsWritten(rootDir: string, { machine }: ExplainPorts): Promise<string | undefined> {
  const facts = await machine.filesystem(rootDir).catch(() => undefined);
  if (facts === undefined) return undefined;
  const what =
    facts.availableBytes < FREE_BYTES_MIN ? "byte" : facts.inodes > 0n && facts.inodesFree === 0n ? "file" : "";
  return what === "" ? undefined : `The file system of ${rootDir} is full: it has no space for another ${what}`;
}

const onFullDisk = (explanation: Explanation, full: string): Explanation => ({
  ...explanation,
  sentence: `${full}. The agent can start nothing and record nothing. Last known state: ${explanation.sentence}`,
});
