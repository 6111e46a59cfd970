/**
 * The containers of a pod and their roles. The role decides when a container starts, whether it restarts and when it
 * stops.
 */
import type { Container, EphemeralContainer, PodSpec } from "../../api/gen/core-v1.ts";

/** All init, regular and ephemeral containers. */
export const allContainers = (spec: PodSpec | undefined): readonly (Container | EphemeralContainer)[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
  ...(spec?.ephemeralContainers ?? []),
];

/**
 * "init" runs to completion before the next one starts. "sidecar" starts in the same order and then keeps running
 * beside the others. "ephemeral" is added to a running pod and runs once.
 */
export type ContainerRole = "init" | "sidecar" | "regular" | "ephemeral";

const ROLES: ReadonlySet<unknown> = new Set<ContainerRole>(["init", "sidecar", "regular", "ephemeral"]);

export const isContainerRole = (value: unknown): value is ContainerRole => ROLES.has(value);

export interface ContainerSpec {
  readonly role: ContainerRole;
  readonly container: Container | EphemeralContainer;
}

export const isSidecar = ({ restartPolicy }: Pick<Container, "restartPolicy">): boolean => restartPolicy === "Always";

/** In spec order. */
export const initContainers = (spec: PodSpec | undefined): readonly ContainerSpec[] =>
  (spec?.initContainers ?? []).map((container) => ({ role: isSidecar(container) ? "sidecar" : "init", container }));

export const regularContainers = (spec: PodSpec | undefined): readonly ContainerSpec[] =>
  (spec?.containers ?? []).map((container) => ({ role: "regular", container }));

export const ephemeralContainers = (spec: PodSpec | undefined): readonly ContainerSpec[] =>
  (spec?.ephemeralContainers ?? []).map((container) => ({ role: "ephemeral", container }));

const containerSpecs = (spec: PodSpec | undefined): readonly ContainerSpec[] => [
  ...initContainers(spec),
  ...regularContainers(spec),
  ...ephemeralContainers(spec),
];

export const containerNamed = (spec: PodSpec | undefined, name: string): ContainerSpec | undefined =>
  containerSpecs(spec).find(({ container }) => container.name === name);

const LISTS: Readonly<Record<ContainerRole, string>> = {
  init: "initContainers",
  sidecar: "initContainers",
  regular: "containers",
  ephemeral: "ephemeralContainers",
};

/** The container's field path, as events use it. */
export const fieldPathOf = ({ role, container }: ContainerSpec): string => `spec.${LISTS[role]}{${container.name}}`;
