/**
 * Gathers what the node adds to a container's definition from an ordered list of contributors
 * (`container-contributors.ts`). Each contributor prepares something on the node and returns what the container gets of
 * it. A contributor sees what earlier ones have gathered; its failure prevents the creation of the container.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import { type ContainerInputs, NO_INPUTS, withContribution } from "../../domain/container-config/container-inputs.ts";
import type { PodPlace } from "../../domain/container-config/environment/field-reference.ts";
import type { PresentImage } from "../../domain/images/image-answer.ts";
import type { ContainerSpec } from "../../domain/pod/containers.ts";
import type { ExitTime } from "../../domain/pod/restart-backoff.ts";
import type { ImageSpec } from "../../domain/runtime/image.ts";
import type { SandboxConfig, SandboxStatus } from "../../domain/runtime/sandbox.ts";
import type { PodState } from "./pod-state.ts";
import type { WorkerContext } from "./worker-options.ts";

/** A pod's worker context together with the pod's state. */
export interface PodWork extends WorkerContext {
  readonly state: PodState;
}

export interface ContainerStart {
  readonly pod: Pod;
  readonly allocation: PodAllocation;
  readonly containerSpec: ContainerSpec;
  readonly restartCount: number;
  /** When the container last exited. */
  readonly after: ExitTime | undefined;
  readonly sandbox: SandboxStatus;
  readonly sandboxConfig: SandboxConfig;
}

/** A container whose images are on the node. */
export interface ContainerCreation extends ContainerStart {
  readonly image: PresentImage;
  /** The images of the container's image volumes, by volume name. */
  readonly volumeImages: ReadonlyMap<string, ImageSpec>;
  /** The addresses of the pod and its node, and the node's allocatable resources. */
  readonly network: PodNetwork;
}

export interface PodNetwork extends PodPlace {
  readonly allocatable: Readonly<Record<string, string>>;
}

/**
 * Rejects with a `StartFailure`, or with another error that the container's status shows as CreateContainerConfigError.
 */
export type ContainerContributor = (
  creation: ContainerCreation,
  gathered: ContainerInputs,
  work: PodWork,
  signal: AbortSignal,
) => Promise<Partial<ContainerInputs>>;

export async function gatherInputs(
  contributors: readonly ContainerContributor[],
  creation: ContainerCreation,
  work: PodWork,
  signal: AbortSignal,
): Promise<ContainerInputs> {
  let inputs = NO_INPUTS;
  for (const contribute of contributors) {
    inputs = withContribution(inputs, await contribute(creation, inputs, work, signal));
  }
  return inputs;
}
