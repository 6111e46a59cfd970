/** Input and output of a command, so that a test can replace them. */
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { createLog, type ProcessLog, standardStreams } from "../logging/log.ts";
import type { CompiledOptions, LogSettings } from "../options/compiled-options.ts";
import type { MachineOfOptions } from "../options/machine-facts.ts";

export interface CommandIo {
  readonly clock: Clock;
  readonly pid: number;
  readonly machine: () => MachineOfOptions;
  /** Whether text on `stdout` may carry colors. */
  readonly isColored: boolean;
  /** Whether a person reads `stderr` while the command runs. */
  readonly isInteractive: boolean;
  stdout(text: string): void;
  stderr(text: string): void;
}

/** Runs the agent until it ends, and returns its exit code. */
export type StartKubelet = (options: CompiledOptions, log: ProcessLog) => Promise<number>;

/** Documents about the contents of the program, shipped with it. */
export type EmbeddedDoc = "licences" | "sbom";
/** Rejects if the document is missing. */
export type ReadEmbeddedDoc = (doc: EmbeddedDoc) => Promise<string>;

/** The log before options are loaded: text format, verbosity 0. */
export const firstLog = (io: CommandIo): Log => {
  const settings: LogSettings = { format: "text", verbosity: 0, modules: [], flushEveryMs: 5000, splitStream: false };
  const sink = { write: (line: string) => io.stderr(line) };
  return createLog(settings, { clock: io.clock, pid: io.pid, info: sink, errors: sink }).of("kubelet");
};

export const processLog = ({ logging }: CompiledOptions, io: CommandIo): ProcessLog =>
  createLog(logging, { clock: io.clock, pid: io.pid, ...standardStreams(logging) });
