/** What one case is: a pod that is made on both nodes, how far it comes, and how it is told apart from the others. */
import type { Container, Pod, PodSpec, Volume, VolumeMount } from "../../../src/api/gen/core-v1.ts";
import type { Cluster, ClusterNode } from "../../cluster/cluster.ts";
import { BUSYBOX, type ClusterPods } from "../../support/cluster-pods.ts";
import { VIEW } from "./container-view.ts";

export const NODES = { go: "n1", deckhand: "n2" } as const;
export type Side = keyof typeof NODES;
export const SIDES: readonly Side[] = ["go", "deckhand"];

/** How far a pod comes; what is seen of it is taken at these moments. */
export type Ending =
  | { readonly kind: "ends"; readonly phase: "Succeeded" | "Failed" }
  /** Runs, and has printed what it sees; so its volumes are there while the node is looked at. */
  | { readonly kind: "runs" }
  /** A container waits for these reasons, one after the other. */
  | { readonly kind: "waits"; readonly reasons: readonly string[]; readonly container?: string }
  /** Nothing of it runs, for so long. */
  | { readonly kind: "stays"; readonly forMs: number }
  /** An event of the pod holds this text; nothing of it runs. */
  | { readonly kind: "told"; readonly text: string };

export const SUCCEEDS: Ending = { kind: "ends", phase: "Succeeded" };
export const FAILS: Ending = { kind: "ends", phase: "Failed" };
export const RUNS: Ending = { kind: "runs" };
export const waits = (...reasons: readonly string[]): Ending => ({ kind: "waits", reasons });
export const told = (text: string): Ending => ({ kind: "told", text });

/** Where a pod is made. */
export interface Place {
  readonly side: Side;
  readonly node: string;
  readonly otherNode: string;
  /** Registries, as they stand before an image's name. */
  readonly open: string;
  readonly guarded: string;
}

export interface World {
  readonly cluster: Cluster;
  readonly pods: ClusterPods;
  place(side: Side): Place;
  node(side: Side): ClusterNode;
}

export interface Case {
  /** Part of the pods' names, and the only one of its kind. */
  readonly name: string;
  /** The rows of the ledger it shows something of. */
  readonly rows: readonly string[];
  readonly ending: Ending;
  readonly spec: Partial<PodSpec> | ((place: Place) => Partial<PodSpec>);
  readonly metadata?: Pick<NonNullable<Pod["metadata"]>, "labels" | "annotations">;
  /** Otherwise than by a plain create. */
  readonly create?: (world: World, pod: Pod, side: Side) => Promise<void>;
  /** Done once, when both pods have printed what they see; each of them prints it again and ends. */
  readonly meanwhile?: (world: World) => Promise<void>;
}

export const podName = ({ name }: Pick<Case, "name">, side: Side): string => `${name}-${NODES[side]}`;

/** What waits is tried again and again. */
export const isTriedAgain = ({ ending }: Case): boolean =>
  ending.kind === "waits" || ending.kind === "told" || ending.kind === "stays";

export const failing = (one: Case): boolean =>
  isTriedAgain(one) || (one.ending.kind === "ends" && one.ending.phase === "Failed");

const STAY = "trap 'exit 0' TERM; while :; do sleep 1000 & wait; done";

const shell = (script: string, { name = "main", ...more }: Partial<Container>): Container => ({
  name,
  image: BUSYBOX,
  command: ["sh", "-c", script, "view"],
  ...more,
});

/** Prints what it sees and ends well. */
export const viewer = (container: Partial<Container> = {}): Container => shell(VIEW, container);
/** Prints what it sees and stays. */
export const lasting = (container: Partial<Container> = {}): Container => shell(`${VIEW}; ${STAY}`, container);
/** Prints what it sees, and again once the condition of the shell holds. */
export const watching = (condition: string, container: Partial<Container> = {}): Container =>
  shell(`${VIEW}; until ${condition}; do sleep 1; done; ${VIEW}`, container);
export const scripted = (script: string, container: Partial<Container> = {}): Container => shell(script, container);

export const VIEW_SCRIPT = VIEW;

export interface VolumePodOptions {
  readonly pod?: Partial<PodSpec>;
  readonly container?: Partial<Container>;
  readonly mount?: Partial<VolumeMount>;
}

/** A pod that stays, with every volume at /v/<its name>. */
export const withVolumes = (
  volumes: readonly Volume[],
  { pod = {}, container = {}, mount = {} }: VolumePodOptions = {},
): Partial<PodSpec> => ({
  volumes,
  containers: [lasting({ volumeMounts: mountsOf(volumes, mount), ...container })],
  ...pod,
});

export const mountsOf = (volumes: readonly Volume[], more: Partial<VolumeMount> = {}): readonly VolumeMount[] =>
  volumes.map(({ name }) => ({ name, mountPath: `/v/${name}`, ...more }));

/** The same with one volume called `data`. */
export const withVolume = (source: Omit<Volume, "name">, options: VolumePodOptions = {}): Partial<PodSpec> =>
  withVolumes([{ name: "data", ...source }], options);
