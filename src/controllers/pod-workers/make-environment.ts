/**
 * Builds a container's environment and expands the variables in its command. Referenced objects that are still unknown
 * are waited for briefly. After that the start fails, and the pod's worker is woken when the object is known.
 */
import { commandOf } from "../../domain/container-config/container-config.ts";
import { containerEnvironment, SERVICES_KEY } from "../../domain/container-config/environment/container-environment.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { EnvironmentVariable } from "../../domain/runtime/container.ts";
import { waitForObjects } from "../cluster-objects/wait-for-objects.ts";
import type { ContainerContributor, ContainerCreation, PodWork } from "./container-creation.ts";
import { readEnvFiles } from "./env-files.ts";
import { StartFailure } from "./start-failure.ts";

export const environment: ContainerContributor = async (creation, _gathered, work, signal) => {
  const variables = await makeEnvironment(creation, work, signal);
  const argv = commandOf(creation.containerSpec.container, variables);
  if (argv.kind === "noText") throw new StartFailure("CreateContainerError", argv.message);
  return { environment: variables, argv: { command: argv.command, args: argv.args } };
};

/** Rejects with a `StartFailure` after recording in the pod's state which objects to wait for. */
async function makeEnvironment(
  { pod, containerSpec: { container }, network }: ContainerCreation,
  { state, cells, ports }: PodWork,
  signal: AbortSignal,
): Promise<readonly EnvironmentVariable[]> {
  const { services, referencedObjects, mountState } = cells;
  const { clock, mounts } = ports;
  const volumes = mountState.get(podNameOfObject(pod).uid) ?? new Map();
  const envFile = await readEnvFiles(container, volumes, mounts, signal);
  const make = () =>
    containerEnvironment({
      pod,
      container,
      ...network,
      services: services.value,
      lookup: (key) => referencedObjects.get(key),
      envFile,
    });
  let made = make();
  if (made.kind === "waits" && !made.for.includes(SERVICES_KEY)) {
    await waitForObjects(made.for, referencedObjects, clock, signal);
    made = make();
  }
  if (made.kind === "ready") return made.variables;
  // Recorded in the same step as the lookup, so that any later change wakes the worker.
  for (const key of made.kind === "waits" ? made.for : made.over) state.containers.blockedOn.add(key);
  throw new StartFailure("CreateContainerConfigError", made.message);
}
