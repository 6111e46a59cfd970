/**
 * Content negotiation for endpoints with text for people and a versioned object for programs. Without an Accept header
 * the answer is text; a request for a kind and version gets JSON or YAML.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { writeYaml } from "../base/yaml-text.ts";
import { failureStatus, send, sendText } from "./responses.ts";

export interface StructuredResponse {
  readonly kind: string;
  readonly text: () => string;
  /** The object's fields besides kind, apiVersion and metadata. */
  readonly fields: () => object;
}

const GROUP = "config.k8s.io";
const VERSIONS: ReadonlySet<string> = new Set(["v1alpha1", "v1beta1"]);
const DEPRECATED = "v1alpha1";
const COMPONENT = "kubelet";

/** Serializers by media type. */
const WRITERS = {
  "application/json": (value: object) => `${JSON.stringify(value)}\n`,
  "application/yaml": writeYaml,
} as const satisfies Readonly<Record<string, (value: object) => string>>;
type Written = keyof typeof WRITERS;

type Accepted =
  | { readonly kind: "text" }
  | { readonly kind: "object"; readonly type: Written; readonly version: string };

export function sendStructured(request: IncomingMessage, response: ServerResponse, answer: StructuredResponse): void {
  const wanted = clausesOf(request.headers.accept ?? "");
  const accepted = acceptedOf(wanted, answer.kind);
  if (accepted === undefined) return sendNotAcceptable(response, wanted);
  if (accepted.kind === "text") return sendText(response, 200, answer.text());
  const { kind, fields } = answer;
  const { type, version } = accepted;
  const object = { kind, apiVersion: `${GROUP}/${version}`, metadata: { name: COMPONENT }, ...fields() };
  const warning = `299 - "This version of the ${kind.toLowerCase()} endpoint is deprecated. Please use a newer version."`;
  const headers = version === DEPRECATED ? { Warning: warning } : {};
  return send(response, 200, `${type};g=${GROUP};v=${version};as=${kind}`, WRITERS[type](object), headers);
}

/** The preferred clause that we support; of equal ones, the first. */
function acceptedOf(wanted: readonly Clause[], kind: string): Accepted | undefined {
  if (wanted.length === 0) return { kind: "text" };
  return wanted
    .flatMap(({ type, parameters }): readonly Accepted[] => {
      const target = parameters.get("as");
      const version = parameters.get("v") ?? "";
      if (target === undefined) return isText(type) ? [{ kind: "text" }] : [];
      const isOurs = target === kind && parameters.get("g") === GROUP && VERSIONS.has(version);
      const written = writtenAs(type);
      return isOurs && written !== undefined ? [{ kind: "object", type: written, version }] : [];
    })
    .at(0);
}

const isText = (type: string) => type === "text/plain" || type === "text/*" || type === "*/*";

function writtenAs(type: string): Written | undefined {
  if (type === "application/*" || type === "*/*") return "application/json";
  return type in WRITERS ? (type as Written) : undefined;
}

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** Highest quality first. */
const clausesOf = (header: string): readonly Clause[] =>
  header.trim() === ""
    ? []
    : header
        .split(",")
        .map(clause)
        .toSorted((a, b) => b.quality - a.quality);

function clause(text: string): Clause {
  const [type = "", ...written] = text.split(";").map((part) => part.trim());
  const parameters = new Map(
    written.map((parameter) => {
      const [name = "", value = ""] = parameter.split("=");
      return [name.trim().toLowerCase(), value.trim().replaceAll('"', "")] as const;
    }),
  );
  const quality = Number(parameters.get("q") ?? "1");
  return { type: type.toLowerCase(), parameters, quality: Number.isFinite(quality) ? quality : 1 };
}

/** In the requested type if it is supported; otherwise as indented JSON for people. */
function sendNotAcceptable(response: ServerResponse, wanted: readonly Clause[]): void {
  const message = "only the following media types are accepted: application/json, application/yaml, text/plain";
  const status = failureStatus(406, "NotAcceptable", message);
  const plain = wanted.find(({ type, parameters }) => type in WRITERS && !parameters.has("as"));
  if (plain === undefined) return send(response, 406, "application/json", JSON.stringify(status, undefined, 2));
  const type = plain.type as Written;
  return send(response, 406, type, WRITERS[type](status));
}
