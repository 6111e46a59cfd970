/** What the node adds to a container's definition. */
import type { ContainerMount, EnvironmentVariable } from "../runtime/container.ts";
import type { LinuxResources } from "../runtime/resources.ts";
import type { ImageUser } from "./security-context.ts";

export interface ContainerInputs {
  readonly environment: readonly EnvironmentVariable[];
  /** Command and arguments with every variable reference replaced. */
  readonly argv: ContainerArgv;
  readonly mounts: readonly ContainerMount[];
  readonly imageUser: ImageUser;
  readonly resources: LinuxResources;
}

export interface ContainerArgv {
  readonly command: readonly string[];
  readonly args: readonly string[];
}

export const NO_INPUTS: ContainerInputs = {
  environment: [],
  argv: { command: [], args: [] },
  mounts: [],
  imageUser: {},
  resources: {},
};

/** Mounts and variables are appended, resources are set one by one, and any other field replaces the previous value. */
export const withContribution = (
  { environment, mounts, resources, ...rest }: ContainerInputs,
  contribution: Partial<ContainerInputs>,
): ContainerInputs => ({
  ...rest,
  ...contribution,
  environment: [...environment, ...(contribution.environment ?? [])],
  mounts: [...mounts, ...(contribution.mounts ?? [])],
  resources: { ...resources, ...contribution.resources },
});
