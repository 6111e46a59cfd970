/**
 * Reads what a container's environment is made of and has it made. An object that its pod names and nobody has heard of yet is waited for, a moment;
 * after that the start fails, and the pod's worker is woken when the object is heard of.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import { containerEnvironment, SERVICES_KEY } from "../../domain/pod/environment/container-environment.ts";
import type { PodPlace } from "../../domain/pod/environment/field-reference.ts";
import type { EnvironmentVariable } from "../../domain/runtime/container.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodState } from "./pod-state.ts";
import { StartFailure } from "./start-failure.ts";
import type { PodWorkerCells } from "./worker-options.ts";

/** As long as the Go kubelet waits. */
const HEARD_MS_MAX = 1_000;

export interface StartPlace extends PodPlace {
  readonly allocatable: Readonly<Record<string, string>>;
}

type Cells = Pick<PodWorkerCells, "services" | "referencedObjects">;

/** Rejects with a `StartFailure`, having noted in `state` what to wait for. */
export async function makeEnvironment(
  pod: Pod,
  container: Container,
  place: StartPlace,
  state: Pick<PodState, "awaits">,
  { services, referencedObjects }: Cells,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly EnvironmentVariable[]> {
  const make = () =>
    containerEnvironment({
      pod,
      container,
      ...place,
      services: services.value,
      lookup: (key) => referencedObjects.get(key),
      // A pod with volumes is rejected as long as there are none.
      envFile: () => ({ kind: "noVolume" }),
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

async function heardOf(
  keys: readonly string[],
  objects: Cells["referencedObjects"],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => {
    if (!keys.some((key) => (objects.get(key)?.kind ?? "unknown") === "unknown")) resolve();
  };
  const unwatch = objects.watch(look);
  const cancel = clock.after(HEARD_MS_MAX, resolve);
  try {
    await unlessAborted(promise, signal);
  } finally {
    unwatch();
    cancel();
  }
}
