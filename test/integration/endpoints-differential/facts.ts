/**
 * The content of an answer, as values under names that are the same on every node, in every cluster and on every
 * machine.
 */
import { parseYaml } from "../../../src/base/yaml-text.ts";
import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import type { Said } from "../../support/node-caller.ts";
import { STATIC_POD } from "./pods.ts";
import type { Question } from "./questions.ts";

export type Facts = ReadonlyMap<string, string>;

/** Headers that depend on the connection or on the moment. */
const PASSING_HEADERS: ReadonlySet<string> = new Set([
  "date",
  "connection",
  "keep-alive",
  "content-length",
  "transfer-encoding",
  "process-start-time-unix",
  "last-modified",
]);

/** With `type`, the body of a successful answer is not compared. */
export type Depth = "whole" | "type";

/** The crashing pod changes all the time; `ordinary-differential` and `restart-differential` compare its status. */
const CRASHING =
  /^\.items\[crashing\]\.status\.(?:containerStatuses|conditions\[(?:ContainersReady|Ready)\]|resources)\b/;
/** Whether the Go kubelet reads a pod's cgroup once more before the pod terminates is random. */
const ENDED_RESOURCES = /^\.items\[(?:ended|failed)\]\.status\.resources\b/;
/** The crashing pod is in the list of running pods while its container runs. */
const RUNNING_CRASHING = /^\.items\[crashing\]/;
/**
 * The Go kubelet keeps the first managedFields that it saw until the pod itself changes; Deckhand's are compared with
 * the API server's.
 */
const MANAGED_FIELDS = /\.metadata\.managedFields\[/;

const isPassing = (page: string, fact: string): boolean =>
  MANAGED_FIELDS.test(fact) ||
  ENDED_RESOURCES.test(fact) ||
  (page.startsWith("/runningpods") ? RUNNING_CRASHING : CRASHING).test(fact);

export function factsOf(
  { status, headers, body }: Said,
  { depth, path: page }: Pick<Question, "depth" | "path">,
  neutral: (text: string) => string,
): Facts {
  const facts = new Map<string, string>([["status", String(status)]]);
  for (const [name, value] of Object.entries(headers)) {
    if (!PASSING_HEADERS.has(name)) facts.set(`header ${name}`, neutral(String(value)));
  }
  if (depth === "type" && status === 200) return facts;
  const text = neutral(body);
  const parsed = parsedOf(text, headers["content-type"]);
  if (parsed === undefined) {
    setText(facts, text);
    return facts;
  }
  facts.set("body ends", JSON.stringify(/\n*$/.exec(text)?.[0]));
  facts.set("body indents", String(/^\{\n( *)/.exec(text)?.[1]?.length ?? 0));
  eachLeaf("", parsed, (path, value) => {
    if (!isPassing(page, path)) facts.set(path, steady(path, value));
  });
  return facts;
}

/** The Go kubelet picks one of four delimiters at random for each answer, so that nobody relies on one. */
const LINE =
  /^(?<name>[a-z][\w-]*|Started|Up|Go version|Binary version|Emulation version|Paths)(?:[:=] ?| )\s?(?<value>.*)$/;

/** Splits pages of name and value lines into facts. Their order is a fact, too. */
function setText(facts: Map<string, string>, text: string): void {
  const [, page, ...lines] = text.split("\n");
  if (!/^kubelet (?:flagz|statusz)$/.test(page ?? "")) {
    facts.set("body", text);
    return;
  }
  const read = lines.map((line) => LINE.exec(line)?.groups ?? { name: "", value: line });
  facts.set("heading", read.flatMap(({ name, value }) => (name === "" ? [value] : [])).join("\n"));
  const named = read.filter(({ name }) => name !== "");
  facts.set("order", named.flatMap(({ name = "" }) => (name.startsWith("deckhand-") ? [] : [name])).join(" "));
  for (const { name, value } of named) facts.set(`line ${name}`, value ?? "");
}

function parsedOf(text: string, type = ""): unknown {
  if (type.startsWith("application/yaml")) {
    const parsed = parseYaml(text);
    return parsed.kind === "ok" ? parsed.value : undefined;
  }
  if (!type.startsWith("application/json")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Some errors of this type are plain text.
  }
}

const nameOf = (item: unknown): string | undefined => {
  if (typeof item !== "object" || item === null) return undefined;
  const { name, type, ip, path, key, mountPath, metadata, podRef } = item as Readonly<Record<string, unknown>>;
  const known = mountPath ?? name ?? type ?? ip ?? path ?? key;
  if (typeof known === "string") return known;
  return nameOf(metadata) ?? nameOf(podRef);
};

function eachLeaf(path: string, value: unknown, leaf: (path: string, value: unknown) => void): void {
  if (Array.isArray(value)) {
    if (value.length === 0) leaf(`${path}[]`, "none");
    for (const [index, item] of value.entries()) eachLeaf(`${path}[${nameOf(item) ?? index}]`, item, leaf);
  } else if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0) leaf(`${path}{}`, "none");
    for (const [key, part] of entries) eachLeaf(`${path}.${key}`, part, leaf);
  } else {
    leaf(path, value);
  }
}

/** Numbers that depend on the cluster's history or its uptime. */
const OWN = /\.(?:resourceVersion|uptimeSeconds)$/;

const steady = (path: string, value: unknown): string => (OWN.test(path) ? "<number>" : JSON.stringify(value));

const UID =
  /(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])|(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/g;
const ID = /\b[0-9a-f]{64}\b(?<!sha256:[0-9a-f]{64})/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;
const UPTIME = /\b\d+ hr \d\d min \d\d sec\b/g;
const STARTED = /\b[A-Z]\w\w [A-Z]\w\w [ \d]\d \d\d:\d\d:\d\d UTC \d{4}\b/g;
const POD_ADDRESS = /\b198\.18\.\d+\.\d+\b/g;

/** Digests differ by machine: the images contain the machine's busybox. */
const DIGEST = /\bsha256:[0-9a-f]{64}\b/g;

/** Replaces what is specific to a node or its cluster, such as IDs, times and names, with placeholders. */
export const neutralFor =
  ({ layout }: Pick<Cluster, "layout">, node: ClusterNode, namespace: string) =>
  (text: string): string =>
    text
      .replaceAll(`${STATIC_POD}-${node.name}`, STATIC_POD)
      .replaceAll(node.directory, "<directory>")
      .replaceAll(layout.directory, "<cluster>")
      .replaceAll(node.cgroupParent, "<cgroup>")
      .replaceAll(layout.cgroupParent, "<cluster cgroup>")
      .replaceAll(node.address, "<node>")
      .replaceAll(namespace, "<namespace>")
      .replaceAll(new RegExp(`\\b${node.name}\\b`, "g"), "<name>")
      .replaceAll(/kube-api-access-\w+/g, "kube-api-access")
      .replaceAll(UID, "<uid>")
      .replaceAll(ID, "<id>")
      .replaceAll(DIGEST, "sha256:<digest>")
      .replaceAll(TIME, "<time>")
      .replaceAll(UPTIME, "<uptime>")
      .replaceAll(STARTED, "<started>")
      .replaceAll(POD_ADDRESS, "<address>");
