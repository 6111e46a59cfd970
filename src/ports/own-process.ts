/** This process as the kernel and the engine see it. Measured anew at each call. */
import type { ProcessFigures } from "../domain/metrics/process-families.ts";

export interface ProcessBegin {
  readonly processWallMs: number;
  /** Of the machine. */
  readonly bootWallMs: number;
}

export interface OwnProcess {
  begin(): Promise<ProcessBegin>;
  facts(): Promise<ProcessFigures>;
}
