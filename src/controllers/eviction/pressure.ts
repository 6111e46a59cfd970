/**
 * Compares each measurement of the node's usage with the eviction thresholds and publishes the node's pressure in the
 * cell `pressure`.
 */
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { onChange } from "../../concurrency/on-change.ts";
import { type EvictionThreshold, evaluate, NO_EVICTION_STATE } from "../../domain/eviction/thresholds.ts";
import type { Pressure } from "../../domain/node/conditions.ts";
import type { NodeUsage } from "../../domain/node/pressure.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

export interface PressureParts {
  readonly nodeUsage: Latest<NodeUsage>;
  readonly pressure: LatestCell<Pressure>;
  readonly clock: Clock;
  readonly log: Log;
  readonly thresholds: readonly EvictionThreshold[];
  /** How long a pressure condition stays true after it was last observed. */
  readonly holdMs: number;
}

export async function runPressure(parts: PressureParts, shutdown: AbortSignal): Promise<void> {
  const { nodeUsage, pressure, clock, log, thresholds, holdMs } = parts;
  let state = NO_EVICTION_STATE;
  const judge = () => {
    const evaluation = evaluate(state, nodeUsage.value.observations, {
      thresholds,
      nowMs: clock.monotonicMs(),
      holdMs,
    });
    state = evaluation.state;
    if (samePressure(evaluation.pressure, pressure.value)) return;
    const met = evaluation.observed.map(({ signal }) => signal);
    log.info(0, "The pressure on the node changed", { pressure: evaluation.pressure, met });
    pressure.set(evaluation.pressure);
  };
  await onChange(nodeUsage, judge, shutdown);
}

const samePressure = (a: Pressure, b: Pressure) => a.memory === b.memory && a.disk === b.disk && a.pid === b.pid;
