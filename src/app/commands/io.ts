/** Where a command speaks, so that a test can listen. */
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { createLog, type ProcessLog, standardStreams } from "../logging/log.ts";
import type { CompiledOptions, LogSettings } from "../options/compiled-options.ts";
import type { MachineOfOptions } from "../options/machine-facts.ts";

export interface CommandIo {
  readonly clock: Clock;
  readonly pid: number;
  readonly machine: () => MachineOfOptions;
  stdout(text: string): void;
  stderr(text: string): void;
}

/** Runs the agent until it ends, and says with which exit code. */
export type StartKubelet = (options: CompiledOptions, log: ProcessLog) => Promise<number>;

/** What is shipped with the program about what is inside. */
export type Paper = "licences" | "sbom";
/** Rejects where there is none. */
export type ReadPaper = (paper: Paper) => Promise<string>;

/** Before there are options to make a log from: text, errors and what is always shown. */
export const firstLog = (io: CommandIo): Log => {
  const settings: LogSettings = { format: "text", verbosity: 0, modules: [], flushEveryMs: 5000, splitStream: false };
  const sink = { write: (line: string) => io.stderr(line) };
  return createLog(settings, { clock: io.clock, pid: io.pid, info: sink, errors: sink }).of("kubelet");
};

export const processLog = ({ logging }: CompiledOptions, io: CommandIo): ProcessLog =>
  createLog(logging, { clock: io.clock, pid: io.pid, ...standardStreams(logging) });
