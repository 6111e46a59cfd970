/**
 * A webhook that authenticates bearer tokens for the API server (TokenReview). A token names its user and the end of
 * its validity; both are signed, so that no list of tokens is needed: `node token-webhook.ts` in the control plane's
 * namespaces, and `nodeToken` wherever a token is issued.
 */
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { issueServingCertificate, pki } from "./certificates.ts";
import type { ClusterLayout } from "./layout.ts";

const PORT = 9443;
const KEY = "a key for tests";

const signatureOf = (text: string) => createHmac("sha256", KEY).update(text).digest("base64url");

/** A token that the API server accepts as this node until then. */
export function nodeToken(node: string, expiresWallMs: number): string {
  const content = Buffer.from(JSON.stringify({ node, expiresWallMs })).toString("base64url");
  return `${content}.${signatureOf(content)}`;
}

/** Undefined: the token is not ours, or it has expired. */
function nodeOf(token: string): string | undefined {
  const [content = "", signature] = token.split(".");
  if (signature !== signatureOf(content)) return undefined;
  const { node, expiresWallMs } = JSON.parse(Buffer.from(content, "base64url").toString()) as {
    readonly node: string;
    readonly expiresWallMs: number;
  };
  return Date.now() < expiresWallMs ? node : undefined;
}

/** The flags by which the API server asks the webhook, and a cache so short that tokens expire on time. */
export async function tokenWebhookFlags(layout: ClusterLayout): Promise<Readonly<Record<string, string>>> {
  const path = join(layout.directory, "token-webhook.kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "w", cluster: { server: `https://127.0.0.1:${PORT}/`, "certificate-authority": pki(layout, "ca.crt") } },
    ],
    users: [{ name: "w", user: {} }],
    contexts: [{ name: "w", context: { cluster: "w", user: "w" } }],
    "current-context": "w",
  };
  await writeFile(path, JSON.stringify(config));
  return {
    "authentication-token-webhook-config-file": path,
    "authentication-token-webhook-cache-ttl": "1s",
    "authentication-token-webhook-version": "v1",
  };
}

/** The webhook's program, for `cluster.start`. */
export async function tokenWebhook(layout: ClusterLayout) {
  const { certFile, keyFile } = await issueServingCertificate(layout, "token-webhook", "127.0.0.1");
  const command = [process.execPath, import.meta.filename, certFile, keyFile];
  return { name: "token-webhook", command, ready: { kind: "listens", port: PORT } } as const;
}

function serve(certFile: string, keyFile: string): void {
  const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      const { spec } = JSON.parse(body) as { readonly spec: { readonly token: string } };
      const node = nodeOf(spec.token);
      const user = { username: `system:node:${node}`, groups: ["system:nodes", "system:authenticated"] };
      const status = node === undefined ? { authenticated: false } : { authenticated: true, user };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", status }));
    });
  });
  server.listen(PORT, "127.0.0.1");
}

if (import.meta.main) serve(process.argv[2] ?? "", process.argv[3] ?? "");
