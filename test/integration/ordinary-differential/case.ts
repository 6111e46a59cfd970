/** What one case is: a pod that is created on the node of each agent, how far it comes, and which observations of it are compared. */
import type { Container, Pod, PodSpec, Volume, VolumeMount } from "../../../src/api/gen/core-v1.ts";
import type { ClusterNode } from "../../cluster/cluster.ts";
import { NODES, nameOn, type Side } from "../../golden/sides.ts";
import { type BothAgents } from "../../support/both-agents.ts";
import { BUSYBOX, STAY } from "../../support/cluster-pods.ts";
import { type ClusterFacts, clusterFacts } from "./cluster-facts.ts";
import { VIEW } from "./container-view.ts";
import type { Look } from "./observe.ts";

/** How far a pod comes; what is seen of it is taken at these moments. */
export type Ending =
  | { readonly kind: "ends"; readonly phase: "Succeeded" | "Failed" }
  /** Runs, and has printed what it sees; so its volumes are there while the node is looked at. */
  | { readonly kind: "runs" }
  /** A container waits for these reasons, one after the other. */
  | { readonly kind: "waits"; readonly reasons: readonly string[] }
  /** Nothing of it runs, for so long under that agent. */
  | { readonly kind: "stays"; readonly forMs: Readonly<Record<Side, number>> }
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
  /** Registries, as they stand before an image's name. */
  readonly open: string;
  readonly guarded: string;
}

export interface World extends Pick<BothAgents, "cluster" | "pods"> {
  place(side: Side): Place;
  node(side: Side): ClusterNode;
  facts(side: Side): Promise<ClusterFacts>;
}

export const worldOf = (both: BothAgents): World => {
  const { cluster, pods } = both;
  const { open, guarded } = cluster.registry;
  const place = (side: Side): Place => ({ side, node: NODES[side], open, guarded });
  const known = new Map<Side, Promise<ClusterFacts>>();
  const facts = (side: Side): Promise<ClusterFacts> => {
    const found = known.get(side) ?? clusterFacts(cluster, pods, both.node(side));
    known.set(side, found);
    return found;
  };
  return { cluster, pods, place, node: (side) => both.node(side), facts };
};

/** A value that is not compared on either side, because chance decides on it under one of the agents. */
export interface LeftOut {
  readonly part: keyof Look;
  /** Matches keys of the part. */
  readonly keys: RegExp;
  readonly why: string;
}

export interface Case {
  /** Why the events of its pod have no order. */
  readonly eventsWithoutOrder?: string;
  /** Part of the pods' names, and the only one of its kind. */
  readonly name: string;
  /** The rows of the ledger it shows something of. */
  readonly rows: readonly string[];
  readonly ending: Ending;
  readonly spec: Partial<PodSpec> | ((place: Place) => Partial<PodSpec>);
  readonly metadata?: Pick<NonNullable<Pod["metadata"]>, "labels" | "annotations">;
  /** It comes to its end only at another try. What waits for ever is tried again anyway. */
  readonly isTriedAgain?: true;
  readonly leavesOut?: LeftOut;
  /** How often these events come is chance; that they come is not. */
  readonly repeats?: { readonly events: RegExp; readonly why: string };
  /** Otherwise than by a plain create. */
  readonly create?: (world: World, pod: Pod, side: Side) => Promise<void>;
  /** Done once, when every pod of the case has printed what it sees; each prints it again and ends. */
  readonly meanwhile?: (world: World) => Promise<void>;
}

export const podName = ({ name }: Pick<Case, "name">, side: Side): string => nameOn(side, name);

const waitsForEver = ({ ending }: Case): boolean =>
  ending.kind === "waits" || ending.kind === "told" || ending.kind === "stays";

/** How often it was tried is chance. */
export const isTriedAgain = (one: Case): boolean => waitsForEver(one) || one.isTriedAgain === true;

export const failing = (one: Case): boolean =>
  waitsForEver(one) || (one.ending.kind === "ends" && one.ending.phase === "Failed");

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
/** Prints what it sees, and again once the condition of the shell holds and of so many volumes nothing old is left. */
export const watching = (condition: string, volumes: number, container: Partial<Container> = {}): Container =>
  shell(
    `${VIEW}; until ${condition} && ls -d /v/*/..2* | wc -l | grep -qx ${volumes}; do sleep 1; done; ${VIEW}`,
    container,
  );
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
