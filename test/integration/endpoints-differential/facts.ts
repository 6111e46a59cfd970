/** What an answer says, as values by names that are the same on every node, in every cluster and on every machine. */
import { parseYaml } from "../../../src/base/yaml-text.ts";
import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import type { Said } from "../../support/node-caller.ts";
import { STATIC_POD } from "./pods.ts";
import type { Question } from "./questions.ts";

export type Facts = ReadonlyMap<string, string>;

/** Of the connection, or of the moment. */
const PASSING_HEADERS: ReadonlySet<string> = new Set([
  "date",
  "connection",
  "keep-alive",
  "content-length",
  "transfer-encoding",
  "process-start-time-unix",
  "last-modified",
]);

/** `type`: nothing of the body of an answer that succeeds. */
export type Depth = "whole" | "type";

/** The pod that crashes changes all the time; `ordinary-differential` and `restart-differential` compare its status. */
const CRASHING =
  /^\.items\[crashing\]\.status\.(?:containerStatuses|conditions\[(?:ContainersReady|Ready)\]|resources)\b/;
/** It is in the list of running pods while its container runs. */
const RUNNING_CRASHING = /^\.items\[crashing\]/;
/** The Go kubelet keeps what it saw first until the pod itself changes; Deckhand's are compared with the API server's. */
const MANAGED_FIELDS = /\.metadata\.managedFields\[/;

const isPassing = (page: string, fact: string): boolean =>
  MANAGED_FIELDS.test(fact) || (page.startsWith("/runningpods") ? RUNNING_CRASHING : CRASHING).test(fact);

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

/** The Go kubelet draws one of four delimiters for each answer, so that nobody relies on it. */
const LINE =
  /^(?<name>[a-z][\w-]*|Started|Up|Go version|Binary version|Emulation version|Paths)(?:[:=] ?| )\s?(?<value>.*)$/;

/** Pages that are lines of names and values are taken apart; their order is a fact too. */
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
    return undefined; // Some errors are plain words under this type.
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

/** Counted by the cluster, or by how long it runs. */
const OWN = /\.(?:resourceVersion|uptimeSeconds)$/;

const steady = (path: string, value: unknown): string => (OWN.test(path) ? "<number>" : JSON.stringify(value));

const UID =
  /(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])|(?<!\w)[0-9a-f]{32}(?!\w)/g;
const ID = /\b[0-9a-f]{64}\b(?<!sha256:[0-9a-f]{64})/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;
const UPTIME = /\b\d+ hr \d\d min \d\d sec\b/g;
const STARTED = /\b[A-Z]\w\w [A-Z]\w\w [ \d]\d \d\d:\d\d:\d\d UTC \d{4}\b/g;
const POD_ADDRESS = /\b198\.18\.\d+\.\d+\b/g;

/** The machine's busybox is part of the images. */
const DIGEST = /\bsha256:[0-9a-f]{64}\b/g;

/** Turns what a node says into what any node would say: no ids, times or names that are its own, nor those of its cluster. */
export const neutralFor =
  ({ layout }: Pick<Cluster, "layout">, node: ClusterNode, namespace: string) =>
  (text: string): string =>
    text
      .replaceAll(`${STATIC_POD}-${node.name}`, STATIC_POD)
      .replaceAll(node.folder, "<directory>")
      .replaceAll(layout.folder, "<cluster>")
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
