/** Label and field selectors, parsed once into a predicate that is applied to each object. */
import type { Selection } from "../../src/ports/api-server.ts";
import { fieldAt, type Kind } from "./kinds.ts";
import { badRequest } from "./refusal.ts";
import type { Stored } from "./stored.ts";

export interface Selector {
  readonly fits: (object: Stored) => boolean;
  /** The value that the selector requires of this field, if any. Watchers are looked up by it. */
  readonly name: string | undefined;
  readonly nodeName: string | undefined;
}

type Test = (object: Stored) => boolean;

const KEY = "[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?";
const EQUALS = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*([A-Za-z0-9._-]*)$`);
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s+\\(([^()]*)\\)$`);
const PRESENCE = new RegExp(`^(!?)\\s*(${KEY})$`);

export function selectorOf(kind: Kind, { namespace, labels, fields }: Selection): Selector {
  const tests: Test[] = [];
  if (namespace !== undefined && namespace !== "")
    tests.push((object) => object.metadata.namespace === namespace || !kind.resource.namespaced);
  for (const part of requirements(labels ?? "")) tests.push(labelTest(part));
  const equal = new Map<string, string>();
  for (const part of (fields ?? "").split(",").filter((text) => text !== "")) tests.push(fieldTest(kind, part, equal));
  return {
    fits: (object) => tests.every((test) => test(object)),
    name: equal.get("metadata.name"),
    nodeName: equal.get("spec.nodeName"),
  };
}

/** Splits at commas, except those inside parentheses. */
const requirements = (text: string): readonly string[] =>
  text
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== "");

function labelTest(text: string): Test {
  const value = (object: Stored, key: string) => {
    const labels = object.metadata.labels ?? {};
    return Object.hasOwn(labels, key) ? labels[key] : undefined;
  };
  const [, equalKey, operator, wanted = ""] = EQUALS.exec(text) ?? [];
  if (equalKey !== undefined) return (object) => (value(object, equalKey) === wanted) === (operator !== "!=");
  const [, setKey, word, list = ""] = SET.exec(text) ?? [];
  if (setKey !== undefined) {
    const values = new Set(list.split(",").map((part) => part.trim()));
    return (object) => {
      const found = value(object, setKey);
      return (found !== undefined && values.has(found)) === (word === "in");
    };
  }
  const [, not, presentKey] = PRESENCE.exec(text) ?? [];
  if (presentKey === undefined) throw badRequest(`unable to parse requirement: ${text}`);
  return (object) => (value(object, presentKey) !== undefined) === (not === "");
}

function fieldTest(kind: Kind, text: string, equal: Map<string, string>): Test {
  const [, path, operator, wanted = ""] = /^([\w.]+)(==|=|!=)(.*)$/.exec(text) ?? [];
  if (path === undefined) throw badRequest(`invalid field selector: ${text}`);
  const isKnown = path === "metadata.name" || path === "metadata.namespace" || kind.fields.includes(path);
  if (!isKnown) throw badRequest(`field label not supported: ${path}`);
  if (operator !== "!=") equal.set(path, wanted);
  return (object) => (fieldAt(object, path) === wanted) === (operator !== "!=");
}
