import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pause } from "../../../test/cluster/wait.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { directoryOf } from "../../../test/support/options.ts";
import { FOR_CLIENTS, TestCertificates } from "../../../test/support/test-certificates.ts";
import type { ExecPlugin } from "../../domain/identity/exec-credential.ts";
import { hostClock } from "../host/clock.ts";
import { PLUGIN_ERROR_BYTES_MAX, PLUGIN_OUTPUT_BYTES_MAX } from "../limits.ts";
import { execPluginRunner } from "./run-exec-plugin.ts";

const never = new AbortController().signal;
const V1 = "client.authentication.k8s.io/v1";
const shell = (script: string, more: Partial<ExecPlugin> = {}): ExecPlugin => ({
  apiVersion: V1,
  command: "/bin/sh",
  args: ["-c", script],
  env: [],
  installHint: "",
  cluster: undefined,
  ...more,
});
const printing = (status: object) =>
  `cat <<'END'\n${JSON.stringify({ kind: "ExecCredential", apiVersion: V1, status })}\nEND\n`;
const run = (plugin: ExecPlugin) => execPluginRunner(hostClock)(plugin, never);

async function isAlive(pid: string): Promise<boolean> {
  const stat = await readFile(`/proc/${pid.trim()}/stat`, "latin1").catch(() => "Z");
  return !/\) Z|^Z/.test(stat);
}

async function untilWritten(path: string): Promise<string> {
  for (;;) {
    const text = await readFile(path, "utf8").catch(() => "");
    if (text.endsWith("\n")) return text;
    await pause(5);
  }
}

describe("[2.8] a credential plugin", () => {
  test("gets its arguments, its variables, the agent's environment and KUBERNETES_EXEC_INFO, and no input", async (t) => {
    const script = `test -z "$(cat)" && printf %s "$1 $OWN $OF_AGENT $KUBERNETES_EXEC_INFO" > "$OUT"; ${printing({ token: "t" })}`;
    const out = join(directoryOf(t, {}), "seen");
    const env = [
      { name: "OWN", value: "own" },
      { name: "OUT", value: out },
    ];
    const plugin = shell(script, { args: ["-c", script, "sh", "argument"], env });
    const found = await execPluginRunner(hostClock, { OF_AGENT: "agent", PATH: process.env["PATH"] })(plugin, never);
    assert.equal(found.token, "t");
    const info = JSON.stringify({ kind: "ExecCredential", apiVersion: V1, spec: { interactive: false } });
    assert.equal(await readFile(out, "utf8"), `argument own agent ${info}`);
  });

  test("may return a certificate with its key; a pair that does not match is an error", async () => {
    await using certificates = await TestCertificates.in();
    const authority = await certificates.selfSigned({ subject: "/CN=ca", extensions: [] });
    const [own, other] = await Promise.all([
      certificates.issue(authority, { subject: "/CN=system:node:n1", extensions: [FOR_CLIENTS] }),
      certificates.issue(authority, { subject: "/CN=system:node:n2", extensions: [FOR_CLIENTS] }),
    ]);
    const { certificatePem, keyPem } = own;
    const found = await run(shell(printing({ clientCertificateData: certificatePem, clientKeyData: keyPem })));
    assert.deepEqual(found.certificate, { certificatePem, keyPem });
    assert.ok((found.expiresWallMs ?? 0) > hostClock.wallMs(), "valid until the end of the certificate");
    const mixed = shell(printing({ clientCertificateData: certificatePem, clientKeyData: other.keyPem }));
    await assert.rejects(run(mixed), /^Error: failed parsing client key\/certificate: /);
  });

  for (const [name, plugin, message] of [
    [
      "does not exist",
      shell("", { command: "no-such-plugin", installHint: "Install it." }),
      "exec: executable no-such-plugin not found: Install it.",
    ],
    ["exits with 1", shell("echo no role >&2; exit 1"), "exec: executable /bin/sh failed with exit code 1: no role"],
    ["is killed", shell("kill -9 $$"), "exec: executable /bin/sh failed with SIGKILL"],
    ["prints nothing", shell(":"), "decoding stdout: it is no ExecCredential"],
    [
      "returns an expired token",
      shell(printing({ token: "t", expirationTimestamp: "2026-01-01T00:00:00Z" })),
      "exec: /bin/sh returned credentials that expired at 2026-01-01T00:00:00.000Z",
    ],
  ] as const) {
    test(`that ${name} is an error that says so`, async () => {
      await assert.rejects(run(plugin), { message });
    });
  }

  test("that prints more than the limit is killed", async () => {
    const message = `exec: /bin/sh was killed: it printed more than ${PLUGIN_OUTPUT_BYTES_MAX} bytes`;
    await assert.rejects(run(shell("exec cat /dev/zero")), { message });
    const padded = `head -c ${PLUGIN_OUTPUT_BYTES_MAX - 200} /dev/zero | tr '\\0' ' '; ${printing({ token: "t" })}`;
    assert.equal((await run(shell(padded))).token, "t", "just below the limit");
  });

  test("that complains at length is quoted with its last bytes", async () => {
    const script = `head -c 100000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 3`;
    await assert.rejects(run(shell(script)), (error: Error) => {
      assert.ok(error.message.endsWith("xend") && error.message.length < PLUGIN_ERROR_BYTES_MAX + 100, error.message);
      return true;
    });
  });

  for (const [name, act] of [
    ["after 60 s", (clock: ManualClock) => clock.advance(60_000)],
    ["when the agent shuts down", (_: ManualClock, closing: AbortController) => closing.abort()],
  ] as const) {
    test(`that hangs is killed ${name}, with the processes it started`, async (t) => {
      const path = join(directoryOf(t, {}), "pid");
      const clock = new ManualClock();
      const closing = new AbortController();
      const plugin = shell(`sleep 600 & echo $! > ${path}; wait`);
      const running = execPluginRunner(clock)(plugin, closing.signal);
      const rejected = assert.rejects(running, /was killed/);
      const pid = await untilWritten(path);
      assert.equal(await isAlive(pid), true);
      await act(clock, closing);
      await rejected;
      while (await isAlive(pid)) await pause(5);
    });
  }

  test("that leaves a process behind with its output open is not waited for", async (t) => {
    const path = join(directoryOf(t, {}), "pid");
    const started = hostClock.monotonicMs();
    const found = await run(shell(`sleep 600 & echo $! > ${path}; ${printing({ token: "t" })}`));
    assert.equal(found.token, "t");
    assert.ok(hostClock.monotonicMs() - started < 10_000);
    process.kill(Number(await readFile(path, "utf8")), "SIGKILL");
  });
});
