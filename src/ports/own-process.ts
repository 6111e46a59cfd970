/** This process as the kernel and the JavaScript engine see it. Every call measures again. */
import type { ProcessStats } from "../domain/metrics/process-families.ts";

export interface ProcessBegin {
  readonly processWallMs: number;
  /** Boot time of the machine. */
  readonly bootWallMs: number;
}

export interface OwnProcess {
  begin(): Promise<ProcessBegin>;
  facts(): Promise<ProcessStats>;
}
