/**
 * Reads what a container's environment is made of and has it made. An object that its pod names and nobody has heard of yet is waited for, a moment;
 * after that the start fails, and the pod's worker is woken when the object is heard of.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { containerEnvironment, SERVICES_KEY } from "../../domain/container-config/environment/container-environment.ts";
import type { PodPlace } from "../../domain/container-config/environment/field-reference.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { EnvironmentVariable } from "../../domain/runtime/container.ts";
import { heardOf } from "../cluster-objects/heard-of.ts";
import { readEnvFiles } from "./env-files.ts";
import type { PodState } from "./pod-state.ts";
import { StartFailure } from "./start-failure.ts";
import type { PodWorkerCells, PodWorkerPorts } from "./worker-options.ts";

export interface StartPlace extends PodPlace {
  readonly allocatable: Readonly<Record<string, string>>;
}

type Cells = Pick<PodWorkerCells, "services" | "referencedObjects" | "mountState">;

/** Rejects with a `StartFailure`, having noted in `state` what to wait for. */
export async function makeEnvironment(
  pod: Pod,
  container: Container,
  place: StartPlace,
  state: Pick<PodState, "awaits">,
  { services, referencedObjects, mountState }: Cells,
  { clock, mounts }: Pick<PodWorkerPorts, "clock" | "mounts">,
  signal: AbortSignal,
): Promise<readonly EnvironmentVariable[]> {
  const volumes = mountState.get(podNameOfObject(pod).uid) ?? new Map();
  const envFile = await readEnvFiles(container, volumes, mounts, signal);
  const make = () =>
    containerEnvironment({
      pod,
      container,
      ...place,
      services: services.value,
      lookup: (key) => referencedObjects.get(key),
      envFile,
    });
  let made = make();
  if (made.kind === "waits" && !made.for.includes(SERVICES_KEY)) {
    await heardOf(made.for, referencedObjects, clock, signal);
    made = make();
  }
  if (made.kind === "ready") return made.variables;
  // In the same step as the look: what changes from here on wakes the worker.
  for (const key of made.kind === "waits" ? made.for : made.over) state.awaits.add(key);
  throw new StartFailure("CreateContainerConfigError", made.message);
}
