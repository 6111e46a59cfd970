/**
 * Compares each measurement of the node's usage with the eviction thresholds and publishes the node's pressure in the
 * cell `pressure`.
 */
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { onChange } from "../../concurrency/on-change.ts";
import type { Pressure } from "../../domain/node/conditions.ts";
import {
  NO_PRESSURE,
  type NodeUsage,
  nextPressure,
  type PressureState,
  type Threshold,
  thresholdsMet,
} from "../../domain/node/pressure.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

export interface PressureParts {
  readonly nodeUsage: Latest<NodeUsage>;
  readonly pressure: LatestCell<Pressure>;
  readonly clock: Clock;
  readonly log: Log;
  readonly thresholds: readonly Threshold[];
  /** How long a pressure condition stays true after it was last observed. */
  readonly holdMs: number;
}

export async function runPressure(parts: PressureParts, shutdown: AbortSignal): Promise<void> {
  const { nodeUsage, pressure, clock, log, thresholds, holdMs } = parts;
  let state: PressureState = { pressure: NO_PRESSURE, lastSeenMs: {} };
  const judge = () => {
    const met = thresholdsMet(thresholds, nodeUsage.value.observations);
    state = nextPressure(state, met, { nowMs: clock.monotonicMs(), holdMs });
    if (samePressure(state.pressure, pressure.value)) return;
    log.info(0, "The pressure on the node changed", { pressure: state.pressure, met });
    pressure.set(state.pressure);
  };
  await onChange(nodeUsage, judge, shutdown);
}

const samePressure = (a: Pressure, b: Pressure) => a.memory === b.memory && a.disk === b.disk && a.pid === b.pid;
