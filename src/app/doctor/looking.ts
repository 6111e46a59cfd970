/** How doctor inspects the host: through ports and with a time limit; a failed check is reported as failed. */
import { errorText } from "../../base/error-text.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import type { Looked } from "../../domain/doctor/finding.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostSigns } from "../../ports/host-signs.ts";
import type { Images } from "../../ports/images.ts";
import type { KernelSettings } from "../../ports/kernel-settings.ts";
import type { Keys } from "../../ports/keys.ts";
import type { Machine } from "../../ports/machine.ts";
import type { RuntimeSelf } from "../../ports/runtime.ts";
import type { PlainAnswer } from "../../wire/kube-api/ask-once.ts";
import type { Connection } from "../../wire/kube-api/connection.ts";
import type { CompiledOptions } from "../options/compiled-options.ts";

export interface DoctorPorts {
  readonly clock: Clock;
  readonly machine: Pick<Machine, "facts" | "filesystem" | "addresses" | "defaultRouteAddress" | "lookup">;
  readonly signs: HostSigns;
  readonly kernel: Pick<KernelSettings, "read" | "isWritable">;
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
const LOOK_MS_MAX = 5_000;

/** Rejects if `run` fails or takes too long. */
export const inTime = <T>({ ports, signal }: Round, run: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  withDeadline(ports.clock, LOOK_MS_MAX, signal, (limited) => unlessAborted(run(limited), limited));

export async function looked<T>(round: Round, run: (signal: AbortSignal) => Promise<T>): Promise<Looked<T>> {
  try {
    return { kind: "seen", value: await inTime(round, run) };
  } catch (error) {
    return { kind: "unseen", why: errorText(error) };
  }
}
