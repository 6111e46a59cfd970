/** Commands run inside containers of the fake runtime, and the URLs of its streaming server. */
import type { ExecResult } from "../../src/ports/runtime.ts";
import type { Containers } from "./containers.ts";
import { type NodeState, refuse } from "./node-state.ts";
import { Process } from "./process.ts";
import type { CommandRun, ContainerRecord } from "./records.ts";

const STREAMING_SERVER = "http://127.0.0.1:41000";

export class Commands {
  readonly #state: NodeState;
  readonly #containers: Containers;

  constructor(state: NodeState, containers: Containers) {
    this.#state = state;
    this.#containers = containers;
  }

  execSync(
    id: string,
    command: readonly string[],
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<ExecResult> | ExecResult {
    const record = this.#running("ExecSync", id);
    const behaviour = this.#containers.behaviourOf(record, command);
    if (behaviour.cannotStart !== undefined) throw refuse("ExecSync", "unknown", behaviour.cannotStart);
    const run: CommandRun = { argv: command, begunWallNs: this.#state.wallNs() };
    record.commands.push(run);
    const outputs: Record<"stdout" | "stderr", Uint8Array[]> = { stdout: [], stderr: [] };
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        signal.removeEventListener("abort", onAbort);
        record.waiters.delete(onContainerEnd);
        cancel?.();
        act();
      };
      const process = new Process({
        clock: this.#state.options.clock,
        pid: this.#state.newPid(),
        behaviour,
        environment: record.environment,
        memoryLimitBytes: () => record.resources?.memoryLimitBytes,
        onOutput: (stream, bytes) => void outputs[stream].push(bytes),
        onEnd: ({ code }) =>
          settle(() => {
            run.ended = { wallNs: this.#state.wallNs(), exitCode: code };
            resolve({ stdout: joined(outputs.stdout), stderr: joined(outputs.stderr), exitCode: code });
          }),
      });
      const kill = (error: unknown) => {
        settle(() => reject(error));
        process.exit({ code: 137, oomKilled: false });
      };
      const onAbort = () => kill(signal.reason);
      // No process in a container outlives the main process.
      const onContainerEnd = () => process.exit({ code: 137, oomKilled: false });
      const late = refuse("ExecSync", "deadlineExceeded", `the command ran for more than ${timeoutSeconds} s`);
      const cancel =
        timeoutSeconds > 0 ? this.#state.options.clock.after(timeoutSeconds * 1000, () => kill(late)) : undefined;
      signal.addEventListener("abort", onAbort, { once: true });
      record.waiters.add(onContainerEnd);
    });
  }

  /** The streaming URL for exec or attach. */
  url(operation: "Exec" | "Attach", id: string): string {
    this.#running(operation, id);
    return this.streamUrl(operation);
  }

  streamUrl(operation: string): string {
    return `${STREAMING_SERVER}/${operation.toLowerCase()}/${this.#state.newId().slice(0, 8)}`;
  }

  #running(operation: string, id: string): ContainerRecord {
    const record = this.#containers.get(operation, id);
    if (record.state !== "running") throw refuse(operation, "unknown", `container ${id} is ${record.state}`);
    return record;
  }
}

const joined = (parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
