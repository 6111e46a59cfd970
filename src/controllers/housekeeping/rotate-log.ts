/** Checks one container log and rotates it when it has reached its size limit. */
import { type RotationPolicy, rotationPlan } from "../../domain/housekeeping/log-rotation.ts";
import type { PodContainer } from "../../domain/pod/runtime-view.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Runtime } from "../../ports/runtime.ts";

export interface RotateLogOptions {
  readonly runtime: Pick<Runtime, "reopenLog">;
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly policy: RotationPolicy;
}

/** `step` is the log message for the step that failed. */
export class LogRotationError extends Error {
  override readonly name = "LogRotationError";
  readonly step: string;
  constructor(step: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.step = step;
  }
}

/** `beingWritten` holds paths that must not be deleted now. */
export async function rotateLog(
  container: Pick<PodContainer, "id" | "logPath">,
  beingWritten: ReadonlySet<string>,
  options: RotateLogOptions,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly rotated: boolean }> {
  const { files, policy } = options;
  const { id, logPath } = container;
  const bytes = (await files.facts(logPath))?.sizeBytes ?? (await sizeOfNewLog(container, options, signal));
  if (bytes < policy.bytesMax) return { bytes, rotated: false };
  try {
    await rotate(id, logPath, beingWritten, options, signal);
  } catch (error) {
    throw asRotationError(error, "Failed to rotate log for container");
  }
  return { bytes, rotated: true };
}

const asRotationError = (error: unknown, step: string): LogRotationError =>
  new LogRotationError(step, error instanceof Error ? error.message : String(error), { cause: error });

/**
 * The log was deleted, or a previous kubelet process died before it asked the runtime to reopen the log. New output is
 * invisible until the runtime reopens the log.
 */
async function sizeOfNewLog(
  { id, logPath }: Pick<PodContainer, "id" | "logPath">,
  { files, runtime }: RotateLogOptions,
  signal: AbortSignal,
): Promise<number> {
  try {
    await runtime.reopenLog(id, signal);
  } catch (error) {
    throw asRotationError(error, "Container log doesn't exist, reopen container log failed");
  }
  const facts = await files.facts(logPath);
  if (facts === undefined) throw new LogRotationError("Failed to stat container log after reopen", "it is not there");
  return facts.sizeBytes;
}

async function rotate(
  id: string,
  logPath: string,
  beingWritten: ReadonlySet<string>,
  { files, runtime, clock, policy }: RotateLogOptions,
  signal: AbortSignal,
): Promise<void> {
  const directory = logPath.slice(0, logPath.lastIndexOf("/"));
  const plan = rotationPlan(logPath.slice(directory.length + 1), await files.list(directory), policy, clock.wallMs());
  for (const name of plan.remove) {
    if (!beingWritten.has(`${directory}/${name}`)) await files.removeFile(`${directory}/${name}`);
  }
  const rotated = `${directory}/${plan.renameTo}`;
  await files.rename(logPath, rotated);
  try {
    await runtime.reopenLog(id, signal);
  } catch (error) {
    // If a new log exists, the runtime reopened it despite the error: the old log must not replace it.
    if ((await files.facts(logPath)) !== undefined) return;
    await files.rename(rotated, logPath);
    throw error;
  }
}
