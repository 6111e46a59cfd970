/** A manifest's bytes as plain values: JSON where it is JSON, YAML otherwise. */
import { type ParsedYaml, parseYaml } from "../../base/yaml-text.ts";

export function parseManifest(bytes: Uint8Array): ParsedYaml {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (text.trimStart().startsWith("{")) {
      const value = asJson(text);
      if (value !== undefined) return { kind: "ok", value };
    }
    return parseYaml(text);
  } catch (error) {
    return { kind: "malformed", detail: error instanceof Error ? error.message : String(error) };
  }
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // Flow style is also YAML, which forgives more.
  }
}
