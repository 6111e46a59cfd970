/** Redacts the secrets of registry credentials in a text, in every encoding in which they are sent. */
import type { RegistryCredentials } from "../../domain/runtime/image.ts";

export function withoutSecrets(text: string, credentials: RegistryCredentials | undefined): string {
  if (credentials === undefined) return text;
  const { username = "", password = "", auth = "", identityToken = "", registryToken = "" } = credentials;
  const pair = Buffer.from(auth, "base64").toString();
  const forms = [password, identityToken, registryToken, auth, pair, pair.slice(pair.indexOf(":") + 1)].flatMap(
    (secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64")],
  );
  if (password !== "") forms.push(Buffer.from(`${username}:${password}`).toString("base64"));
  // Longest first: redacting a part of a secret would keep the rest of it from being found.
  const secrets = [...new Set(forms)].filter((form) => form !== "").sort((a, b) => b.length - a.length);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}
