/**
 * Runs a credential plugin of a kubeconfig: a program with no input, its own process group and bounds on its time and
 * its output. When a bound is exceeded, the whole group is killed. An error names the command and what it printed on
 * standard error, never what it printed on standard output.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createSecureContext } from "node:tls";
import { errorText } from "../../base/error-text.ts";
import {
  type ExecPlugin,
  execInfo,
  type PluginCredentials,
  parseExecCredential,
} from "../../domain/identity/exec-credential.ts";
import type { Clock } from "../../ports/clock.ts";
import { errnoOf } from "../host/errno.ts";
import { PLUGIN_ERROR_BYTES_MAX, PLUGIN_OUTPUT_BYTES_MAX } from "../limits.ts";

/** The cloud providers' plugins answer within seconds. */
const PLUGIN_MS_MAX = 60_000;
/** What has ended may still have output in its pipes; a process that it left behind may keep them open forever. */
const OUTPUT_AFTER_EXIT_MS = 1_000;

export type RunExecPlugin = (plugin: ExecPlugin, signal: AbortSignal) => Promise<PluginCredentials>;

export const execPluginRunner =
  (clock: Clock, environment: NodeJS.ProcessEnv = process.env): RunExecPlugin =>
  async (plugin, signal) => {
    const found = parseExecCredential(await outputOf(plugin, { clock, environment, signal }), plugin);
    const { certificate, expiresWallMs = Number.POSITIVE_INFINITY } = found;
    if (certificate !== undefined) requireMatch(certificate);
    if (expiresWallMs <= clock.wallMs()) {
      const at = new Date(expiresWallMs).toISOString();
      throw new Error(`exec: ${plugin.command} returned credentials that expired at ${at}`);
    }
    return found;
  };

function requireMatch({ certificatePem, keyPem }: NonNullable<PluginCredentials["certificate"]>): void {
  try {
    createSecureContext({ cert: certificatePem, key: keyPem });
  } catch (error) {
    throw new Error(`failed parsing client key/certificate: ${errorText(error)}`, { cause: error });
  }
}

interface Surroundings {
  readonly clock: Clock;
  readonly environment: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

function outputOf(plugin: ExecPlugin, { clock, environment, signal }: Surroundings): Promise<string> {
  signal.throwIfAborted();
  const { command, args, env } = plugin;
  const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // Without a free descriptor there is a child, but no streams.
  const child: ChildProcess = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...environment, ...own, KUBERNETES_EXEC_INFO: execInfo(plugin) },
    detached: true,
  });
  child.once("error", (error) => reject(startError(plugin, error)));
  const stop = (why: string) => {
    reject(new Error(`exec: ${command} ${why}${complaint()}`));
    killGroup(child);
  };
  const output: Buffer[] = [];
  let outputBytes = 0;
  child.stdout?.on("data", (chunk: Buffer) => {
    outputBytes += chunk.length;
    if (outputBytes > PLUGIN_OUTPUT_BYTES_MAX)
      stop(`was killed: it printed more than ${PLUGIN_OUTPUT_BYTES_MAX} bytes`);
    else output.push(chunk);
  });
  let errors = Buffer.alloc(0);
  child.stderr?.on("data", (chunk: Buffer) => {
    errors = Buffer.concat([errors, chunk]).subarray(-PLUGIN_ERROR_BYTES_MAX);
  });
  const complaint = () => {
    const text = errors.toString("utf8").trim();
    return text === "" ? "" : `: ${text}`;
  };
  const settle = (code: number | null, signal: NodeJS.Signals | null) => {
    if (code === 0) resolve(Buffer.concat(output).toString("utf8"));
    else reject(new Error(`exec: executable ${command} failed with ${signal ?? `exit code ${code}`}${complaint()}`));
  };
  const cancelLimit = clock.after(PLUGIN_MS_MAX, () => stop(`was killed after ${PLUGIN_MS_MAX / 1000} s`));
  const onAbort = () => stop(`was killed: ${errorText(signal.reason)}`);
  signal.addEventListener("abort", onAbort, { once: true });
  let cancelOutput = () => {};
  child.once("exit", (code, signal) => {
    cancelOutput = clock.after(OUTPUT_AFTER_EXIT_MS, () => settle(code, signal));
  });
  child.once("close", settle);
  return promise.finally(() => {
    cancelLimit();
    cancelOutput();
    signal.removeEventListener("abort", onAbort);
    child.stdout?.destroy();
    child.stderr?.destroy();
  });
}

function startError({ command, installHint }: ExecPlugin, error: Error): Error {
  if (errnoOf(error) !== "ENOENT") return new Error(`exec: ${errorText(error)}`);
  return new Error(`exec: executable ${command} not found${installHint === "" ? "" : `: ${installHint}`}`);
}

/** The plugin and everything it started. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended, or it runs as another user whom this agent may not signal: the request fails either way.
  }
}
