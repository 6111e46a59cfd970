/**
 * Answers from the journal's files, for the command line and for the node's API. It needs no agent, writes nothing, and
 * says so when a full disk has kept the agent from recording anything.
 */
import { type Answer, type Entry, toEntry } from "../../domain/explain/entry.ts";
import { type Explanation, explain, nearNames, type Question } from "../../domain/explain/explain.ts";
import { explainNode, type NodeExplanation } from "../../domain/explain/explain-node.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Machine } from "../../ports/machine.ts";
import { readJournalValues } from "../journal/read-journal.ts";

export interface ExplanationPorts {
  readonly files: Pick<HostFiles, "list" | "read">;
  readonly machine: Pick<Machine, "filesystem">;
}

/** What was read of the journal, once for any number of answers. */
export interface Records {
  readonly directory: string;
  readonly entries: readonly Entry[];
  /** Why the agent can record nothing now; undefined if it can. */
  readonly full: string | undefined;
}

const NEAR_MAX = 5;
/** With less free space not even one record can be written. */
const FREE_BYTES_MIN = 4_096n;

export async function readRecords(ports: ExplanationPorts, rootDirectory: string): Promise<Records> {
  const directory = `${rootDirectory}/deckhand/journal`;
  const entries = (await readJournalValues(ports.files, directory)).flatMap((value) => toEntry(value) ?? []);
  return { directory, entries, full: await whyNothingIsWritten(rootDirectory, ports) };
}

export function answerPod(records: Records, question: Question): Answer<Explanation> {
  const { entries, full } = records;
  const explanation = explain(entries, question);
  if (explanation === undefined) return { kind: "unknown", text: notKnown(question, records) };
  return { kind: "found", explanation: onFullDisk(explanation, full) };
}

export function answerNode(records: Records): Answer<NodeExplanation> {
  const { entries, directory, full } = records;
  const explanation = explainNode(entries);
  if (explanation !== undefined) return { kind: "found", explanation: onFullDisk(explanation, full) };
  const lines = [`Nothing is known about this node (${directory}).`, ...emptyJournal(records)];
  return { kind: "unknown", text: `${lines.join("\n")}\n` };
}

function notKnown({ pod, uid }: Question, records: Records): string {
  const { entries, directory } = records;
  const others = uid === undefined ? [] : [...new Set(entries.filter((each) => each.pod === pod).map((e) => e.uid))];
  const near = nearNames(entries, pod, NEAR_MAX).filter((each) => each !== pod);
  const lines = [
    `${pod}${uid === undefined ? "" : ` with the UID ${uid}`} is not known to this node (${directory}).`,
    ...emptyJournal(records),
  ];
  if (others.length > 0) lines.push(`Known UIDs of pods with this name: ${others.join(", ")}`);
  if (near.length > 0) lines.push(`Did you mean: ${near.join(", ")}`);
  return `${lines.join("\n")}\n`;
}

const emptyJournal = ({ entries, full }: Records): readonly string[] => [
  ...(full === undefined ? [] : [`${full}: the agent has recorded nothing since then.`]),
  ...(entries.length > 0 ? [] : ["The journal is empty. Is --root-dir correct?"]),
];

/** Returns undefined if space is left, or if the file system cannot be inspected. */
async function whyNothingIsWritten(
  rootDirectory: string,
  { machine }: Pick<ExplanationPorts, "machine">,
): Promise<string | undefined> {
  const facts = await machine.filesystem(rootDirectory).catch(() => undefined);
  if (facts === undefined) return undefined;
  const what =
    facts.availableBytes < FREE_BYTES_MIN ? "byte" : facts.inodes > 0n && facts.inodesFree === 0n ? "file" : "";
  return what === "" ? undefined : `The file system of ${rootDirectory} is full: it has no space for another ${what}`;
}

const onFullDisk = <T extends { readonly sentence: string }>(explanation: T, full: string | undefined): T =>
  full === undefined
    ? explanation
    : {
        ...explanation,
        sentence: `${full}. The agent can start nothing and record nothing. Last known state: ${explanation.sentence}`,
      };
