/** How doctor inspects the host: through ports and with a time limit; a failed check is reported as failed. */
import { errorText } from "../../base/error-text.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import type { Probed } from "../../domain/doctor/finding.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostInspector } from "../../ports/host-inspector.ts";
import type { Images } from "../../ports/images.ts";
import type { Keys } from "../../ports/keys.ts";
import type { Machine } from "../../ports/machine.ts";
import type { RuntimeSelf } from "../../ports/runtime.ts";
import type { Sysctls } from "../../ports/sysctls.ts";
import type { Connection } from "../../wire/kube-api/connection.ts";
import type { PlainAnswer } from "../../wire/kube-api/one-shot-request.ts";
import type { CompiledOptions } from "../options/compiled-options.ts";

export interface DoctorPorts {
  readonly clock: Clock;
  readonly machine: Pick<Machine, "facts" | "filesystem" | "addresses" | "defaultRouteAddress" | "lookup">;
  readonly inspector: HostInspector;
  readonly kernel: Pick<Sysctls, "read" | "isWritable">;
  readonly keys: Pick<Keys, "describe">;
  readonly runtime: Pick<RuntimeSelf, "version" | "status" | "cgroupDriver">;
  readonly images: Pick<Images, "imageFilesystems">;
  readonly ask: (connection: Connection, path: string, signal: AbortSignal) => Promise<PlainAnswer>;
}

export interface Round {
  readonly ports: DoctorPorts;
  readonly options: CompiledOptions;
  readonly signal: AbortSignal;
}

/** Whatever does not respond within this time counts as unresponsive. */
const PROBE_MS_MAX = 5_000;

/** Rejects if `run` fails or takes too long. */
export const inTime = <T>({ ports, signal }: Round, run: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  withDeadline(ports.clock, PROBE_MS_MAX, signal, (limited) => raceAbort(run(limited), limited));

export async function probe<T>(round: Round, run: (signal: AbortSignal) => Promise<T>): Promise<Probed<T>> {
  try {
    return { kind: "seen", value: await inTime(round, run) };
  } catch (error) {
    return { kind: "unseen", why: errorText(error) };
  }
}
