/** The containers of a pod and what each is there for, which decides when it starts, whether it starts again and when it ends. */
import type { Container, EphemeralContainer, PodSpec } from "../../api/gen/core-v1.ts";

/** Those that set up, those that run, and those that somebody looks in with. */
export const everyContainer = (spec: PodSpec | undefined): readonly (Container | EphemeralContainer)[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
  ...(spec?.ephemeralContainers ?? []),
];

/**
 * "init" runs to its end before the next begins; "sidecar" is started in that order and then stays beside the others; "ephemeral" is added to a
 * pod that runs, and runs once.
 */
export type ContainerRole = "init" | "sidecar" | "regular" | "ephemeral";

const ROLES: ReadonlySet<unknown> = new Set<ContainerRole>(["init", "sidecar", "regular", "ephemeral"]);

export const isContainerRole = (value: unknown): value is ContainerRole => ROLES.has(value);

export interface RoledContainer {
  readonly role: ContainerRole;
  readonly container: Container | EphemeralContainer;
}

export const isSidecar = ({ restartPolicy }: Pick<Container, "restartPolicy">): boolean => restartPolicy === "Always";

/** In the order of the spec. */
export const initContainers = (spec: PodSpec | undefined): readonly RoledContainer[] =>
  (spec?.initContainers ?? []).map((container) => ({ role: isSidecar(container) ? "sidecar" : "init", container }));

export const regularContainers = (spec: PodSpec | undefined): readonly RoledContainer[] =>
  (spec?.containers ?? []).map((container) => ({ role: "regular", container }));

export const ephemeralContainers = (spec: PodSpec | undefined): readonly RoledContainer[] =>
  (spec?.ephemeralContainers ?? []).map((container) => ({ role: "ephemeral", container }));

const roledContainers = (spec: PodSpec | undefined): readonly RoledContainer[] => [
  ...initContainers(spec),
  ...regularContainers(spec),
  ...ephemeralContainers(spec),
];

export const containerNamed = (spec: PodSpec | undefined, name: string): RoledContainer | undefined =>
  roledContainers(spec).find(({ container }) => container.name === name);

const LISTS: Readonly<Record<ContainerRole, string>> = {
  init: "initContainers",
  sidecar: "initContainers",
  regular: "containers",
  ephemeral: "ephemeralContainers",
};

/** Where events say that it stands in the pod. */
export const fieldPathOf = ({ role, container }: RoledContainer): string => `spec.${LISTS[role]}{${container.name}}`;
