/**
 * A credential plugin for tests: `node credential-plugin.ts DIRECTORY`. The directory's `mode` says what it does, and
 * each run adds a line to `runs`.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command } from "../cluster/command.ts";
import { nodeToken } from "../cluster/token-webhook.ts";

export type PluginMode =
  | { readonly kind: "token"; readonly node: string; readonly lifetimeMs: number }
  /** A new certificate in each run. Its own validity is a month; the plugin says that it ends after `lifetimeMs`. */
  | { readonly kind: "certificate"; readonly node: string; readonly lifetimeMs: number; readonly authority: string }
  | { readonly kind: "hangs" | "garbage" | "floods" | "exits" }
  /** A token that expired a minute ago. */
  | { readonly kind: "expired"; readonly node: string };

export async function makePluginDirectory(directory: string): Promise<void> {
  await mkdir(directory);
  await writeFile(join(directory, "runs"), "");
}

export const setPluginMode = (directory: string, mode: PluginMode): Promise<void> =>
  writeFile(join(directory, "mode"), JSON.stringify(mode));

/** The value of KUBERNETES_EXEC_INFO in each run so far. */
export function pluginRuns(directory: string): readonly string[] {
  return readFileSync(join(directory, "runs"), "utf8").split("\n").filter(Boolean);
}

/** For the user of a kubeconfig. */
export const pluginUser = (directory: string) => ({
  exec: {
    apiVersion: "client.authentication.k8s.io/v1",
    command: process.execPath,
    args: [import.meta.filename, directory],
    interactiveMode: "Never",
    provideClusterInfo: true,
  },
});

async function main(directory: string): Promise<void> {
  const mode = JSON.parse(readFileSync(join(directory, "mode"), "utf8")) as PluginMode;
  const info = process.env["KUBERNETES_EXEC_INFO"] ?? "";
  appendFileSync(join(directory, "runs"), `${info}\n`);
  const { apiVersion } = JSON.parse(info) as { readonly apiVersion: string };
  const answer = (status: object) =>
    writeFileSync(1, `${JSON.stringify({ kind: "ExecCredential", apiVersion, status })}\n`);
  const token = (node: string, expiresWallMs: number) =>
    answer({ token: nodeToken(node, expiresWallMs), expirationTimestamp: new Date(expiresWallMs).toISOString() });
  switch (mode.kind) {
    case "token":
      return token(mode.node, Date.now() + mode.lifetimeMs);
    case "expired":
      return token(mode.node, Date.now() - 60_000);
    case "certificate":
      return answer({
        ...(await newCertificate(mode)),
        expirationTimestamp: new Date(Date.now() + mode.lifetimeMs).toISOString(),
      });
    case "garbage":
      writeFileSync(1, "Your session has expired, please log in.\n");
      return;
    case "floods":
      process.stdout.write(Buffer.alloc(100 * 2 ** 20, "x"));
      return;
    case "exits":
      process.stderr.write("no role is attached to this machine\n");
      process.exitCode = 1;
      return;
    case "hangs":
      setInterval(() => {}, 60_000);
  }
}

/** `authority` is the path of the CA's files without their ending. */
async function newCertificate({ node, authority }: Extract<PluginMode, { kind: "certificate" }>) {
  const directory = mkdtempSync(join(tmpdir(), "deckhand-plugin-"));
  try {
    const [key, certificate] = [join(directory, "key"), join(directory, "certificate")];
    const keyFlags = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout", key];
    const subject = ["-subj", `/O=system:nodes/CN=system:node:${node}`, "-days", "30"];
    const signer = ["-CA", `${authority}.crt`, "-CAkey", `${authority}.key`, "-addext", "extendedKeyUsage=clientAuth"];
    await command("openssl", ["req", "-x509", ...keyFlags, ...subject, ...signer, "-out", certificate]);
    return { clientCertificateData: readFileSync(certificate, "utf8"), clientKeyData: readFileSync(key, "utf8") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

if (import.meta.main) await main(process.argv[2] ?? "");
