/**
 * Registry credentials in files and Secrets: `{"auths": {registry: login}}` of config.json, and the bare map of the
 * older .dockercfg. They are parsed as Go parses JSON: field names in any case, and null for absent. One invalid login
 * invalidates the whole file.
 */
import { decodeBase64 } from "../../base/base64.ts";
import { utf8Text } from "../../base/utf8.ts";

export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
}

/** Each registry as written in the file, with its login. */
export type CredentialsByRegistry = readonly (readonly [registry: string, login: RegistryLogin])[];

export type ParsedCredentials =
  | { readonly kind: "credentials"; readonly credentials: CredentialsByRegistry }
  | { readonly kind: "invalid"; readonly why: string };

export type DockerConfigForm = "config.json" | ".dockercfg";

class Fault extends Error {}

export function parseDockerConfig(text: string, form: DockerConfigForm): ParsedCredentials {
  try {
    const whole = objectIn(JSON.parse(text));
    const auths = form === "config.json" ? objectIn(valueIn(whole, "auths")) : whole;
    return {
      kind: "credentials",
      credentials: Object.entries(auths).map(([registry, entry]) => [registry, loginOf(entry)] as const),
    };
  } catch (error) {
    if (error instanceof Fault) return { kind: "invalid", why: error.message };
    // The message of the JSON parser could quote a password.
    return { kind: "invalid", why: UNREADABLE };
  }
}

const UNREADABLE = "error occurred while trying to unmarshal json";

function loginOf(entry: unknown): RegistryLogin {
  const fields = objectIn(entry);
  const auth = textIn(fields, "auth");
  if (auth === "") return { username: textIn(fields, "username"), password: textIn(fields, "password") };
  const decoded = decodeBase64(auth, auth.trim().endsWith("=") ? "padded" : "bare");
  if (decoded.kind === "invalid") throw new Fault(decoded.message);
  const pair = utf8Text(decoded.bytes) ?? "";
  const at = pair.indexOf(":");
  if (at < 0) throw new Fault("unable to parse auth field, must be formatted as base64(username:password)");
  return { username: pair.slice(0, at), password: pair.slice(at + 1) };
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  if (value === null || value === undefined) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw new Fault(UNREADABLE);
  return value as Readonly<Record<string, unknown>>;
}

const valueIn = (object: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.entries(object).findLast(([key]) => key.toLowerCase() === name)?.[1];

function textIn(object: Readonly<Record<string, unknown>>, name: string): string {
  const value = valueIn(object, name) ?? "";
  if (typeof value !== "string") throw new Fault(UNREADABLE);
  return value;
}
