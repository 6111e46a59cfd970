/** Inspects the state that the runtime reports, and the network that it is configured with. */
import { errorText } from "../../base/error-text.ts";
import type { NetworkSeen, RuntimeAnswer, RuntimeSeen } from "../../domain/doctor/facts.ts";
import type { Probed } from "../../domain/doctor/finding.ts";
import { configurationName, networkConfiguration } from "../../domain/doctor/network-configuration.ts";
import { NO_SETTINGS, type RuntimeSettings, runtimeSettings } from "../../domain/doctor/runtime-settings.ts";
import type { RuntimeStatus } from "../../domain/runtime/runtime-info.ts";
import { isRuntimeError } from "../../ports/runtime-error.ts";
import { inTime, probe, type Round } from "./probe-host.ts";

export interface RuntimeRound {
  readonly runtime: RuntimeSeen;
  readonly network: NetworkSeen;
}

export async function gatherRuntime(round: Round): Promise<RuntimeRound> {
  const { ports, options } = round;
  const answer = await askVersion(round);
  const silent: Probed<never> = { kind: "unseen", why: "the runtime does not answer" };
  const status =
    answer.kind === "answers"
      ? await probe(round, (signal) => ports.runtime.status({ verbose: true }, signal))
      : silent;
  const settings = settingsOf(status);
  const conditions: RuntimeSeen["conditions"] =
    settings.kind === "unseen"
      ? settings
      : status.kind === "unseen"
        ? status
        : { kind: "seen", value: status.value.conditions };
  const { endpoint, imageEndpoint } = options.runtime;
  const images =
    answer.kind === "answers" || imageEndpoint !== endpoint
      ? await probe(round, (signal) => ports.images.imageFilesystems(signal))
      : silent;
  const isApart = imageEndpoint !== endpoint && images.kind === "unseen";
  const driver = answer.kind === "answers" ? await askDriver(round) : silent;
  const known = settings.kind === "seen" ? settings.value : NO_SETTINGS;
  return {
    runtime: {
      endpoint,
      answer,
      conditions,
      driver,
      driverOfSettings: known.driver,
      imageDirectory: images.kind === "seen" ? images.value.images[0]?.mountpoint : undefined,
      imageTrouble: isApart ? { endpoint: imageEndpoint, why: images.why } : undefined,
    },
    network: await gatherNetwork(round, known),
  };
}

async function askVersion(round: Round): Promise<RuntimeAnswer> {
  try {
    const version = await inTime(round, (signal) => round.ports.runtime.version(signal));
    return { kind: "answers", version };
  } catch (error) {
    return { kind: isRuntimeError(error, "unimplemented") ? "noCri" : "silent", why: errorText(error) };
  }
}

function settingsOf(status: Probed<RuntimeStatus>): Probed<RuntimeSettings> {
  if (status.kind === "unseen") return { kind: "seen", value: NO_SETTINGS };
  try {
    return { kind: "seen", value: runtimeSettings(status.value.info) };
  } catch (error) {
    return { kind: "unseen", why: `its settings cannot be read: ${errorText(error)}` };
  }
}

const askDriver = (round: Round): Promise<RuntimeSeen["driver"]> =>
  probe(round, (signal) =>
    round.ports.runtime.cgroupDriver(signal).catch((error: unknown) => {
      if (isRuntimeError(error, "unimplemented")) return undefined;
      throw error;
    }),
  );

async function gatherNetwork(
  round: Round,
  { networkDirectory: directory, networkProgramDirectories: directories, needsLoopback }: RuntimeSettings,
): Promise<NetworkSeen> {
  const { inspector } = round.ports;
  const takenOf = async (from: string) => {
    const name = configurationName(await inspector.names(from));
    return name === undefined
      ? undefined
      : networkConfiguration(`${from}/${name}`, await inspector.text(`${from}/${name}`));
  };
  const namesIn = async (each: readonly string[]) =>
    (await Promise.all(each.map((from) => inspector.names(from)))).flat();
  return {
    configured:
      directory === undefined ? undefined : { directory, configuration: await probe(round, () => takenOf(directory)) },
    programs:
      directories === undefined ? undefined : { directories, found: await probe(round, () => namesIn(directories)) },
    needsLoopback,
  };
}
