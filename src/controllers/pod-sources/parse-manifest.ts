/** Parses a manifest's bytes into plain values: as JSON if possible, otherwise as YAML. */
import { parseYaml } from "../../base/yaml-text.ts";

export type ParsedManifest =
  | { readonly kind: "ok"; readonly value: unknown }
  | { readonly kind: "malformed"; readonly detail: string };

export function parseManifest(bytes: Uint8Array): ParsedManifest {
  const text = asText(bytes);
  if (text === undefined) return { kind: "malformed", detail: "not UTF-8" };
  if (text.trimStart().startsWith("{")) {
    const value = asJson(text);
    if (value !== undefined) return { kind: "ok", value };
  }
  const parsed = parseYaml(text);
  if (parsed.kind === "ok" && parsed.value === null) return { kind: "malformed", detail: "there is no document" };
  return parsed;
}

function asText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // YAML flow style also starts with a brace and is less strict.
  }
}
