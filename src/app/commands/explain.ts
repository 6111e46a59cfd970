/**
 * `deckhand explain pod <namespace>/<name>`: why a pod is in the state it is in, and how it came there. It reads the journal's files and nothing
 * else: no API server, no runtime and no agent, and it writes nothing.
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

const USAGE = `usage: deckhand explain pod <namespace>/<name> [--uid UID] [--output text|json] [--root-dir FOLDER]

Says why a pod of this node is in the state it is in, and how it came there. It needs neither the API server nor the agent.

  --uid UID           of which pod, where several had the name one after the other (default: the newest)
  --output text|json  (default text)
  --root-dir FOLDER   the agent's (default ${AGENT_FLAGS["root-dir"].initial})

Ends with 0 when the pod is known, with 1 when it is not, and with 2 when it was asked wrongly.
`;

const FOUND = 0;
const NOT_FOUND = 1;
const WRONG_USE = 2;
const NEAR_MAX = 5;
/** With less, not even a record can be written. */
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
    return WRONG_USE;
  }
  const folder = `${asked.rootDir}/deckhand/journal`;
  let entries: readonly Entry[];
  try {
    entries = (await lookAtJournal(ports.files, folder)).flatMap((value) => toEntry(value) ?? []);
  } catch (error) {
    io.stderr(`error: the journal cannot be read: ${errorText(error)}\n`);
    return NOT_FOUND;
  }
  const nowWallMs = io.clock.wallMs();
  const explanation = explain(entries, { ...asked, nowWallMs });
  const full = await whyNothingIsWritten(asked.rootDir, ports);
  if (explanation === undefined) {
    io.stderr(notKnown(asked, folder, entries, full));
    return NOT_FOUND;
  }
  const shown = full === undefined ? explanation : onFullDisk(explanation, full);
  io.stdout(asked.output === "json" ? explanationJson(shown) : explanationText(shown, nowWallMs));
  return FOUND;
}

/** Throws with what is wrong. */
function parseQuestion(args: readonly string[]): Asked {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      uid: { type: "string" },
      output: { type: "string", short: "o", default: "text" },
      "root-dir": { type: "string", default: AGENT_FLAGS["root-dir"].initial },
    },
  });
  const [pod = "", ...more] = positionals;
  if (!/^[^/]+\/[^/]+$/.test(pod) || more.length > 0) throw new Error("it takes one pod, as <namespace>/<name>");
  const { output, uid } = values;
  if (output !== "text" && output !== "json") throw new Error(`--output is text or json, not ${output}`);
  return { pod, uid, output, rootDir: values["root-dir"].replace(/(?<=.)\/+$/, "") };
}

function notKnown({ pod, uid }: Asked, folder: string, entries: readonly Entry[], full: string | undefined): string {
  const others = uid === undefined ? [] : [...new Set(entries.filter((each) => each.pod === pod).map((e) => e.uid))];
  const near = nearNames(entries, pod, NEAR_MAX).filter((each) => each !== pod);
  const lines = [`${pod}${uid === undefined ? "" : ` with the UID ${uid}`} is not known to this node (${folder}).`];
  if (full !== undefined) lines.push(`${full}: what came since then is not recorded.`);
  if (entries.length === 0) lines.push("There is no record at all: is this the agent's --root-dir?");
  if (others.length > 0) lines.push(`Pods of that name that it knows: ${others.join(", ")}`);
  if (near.length > 0) lines.push(`Did you mean: ${near.join(", ")}`);
  return `${lines.join("\n")}\n`;
}

/** Undefined where there is room, or where that cannot be said. */
async function whyNothingIsWritten(rootDir: string, { machine }: ExplainPorts): Promise<string | undefined> {
  const facts = await machine.filesystem(rootDir).catch(() => undefined);
  if (facts === undefined) return undefined;
  const what =
    facts.availableBytes < FREE_BYTES_MIN ? "byte" : facts.inodes > 0n && facts.inodesFree === 0n ? "file" : "";
  return what === "" ? undefined : `The disk of ${rootDir} is full, it has no room for another ${what}`;
}

const onFullDisk = (explanation: Explanation, full: string): Explanation => ({
  ...explanation,
  sentence: `${full}: nothing can be started, and nothing new is recorded. The last that is known: ${explanation.sentence}`,
});
