/**
 * Defines a case: a pod that is created on the node of each agent, how far the pod gets, and which observations of it
 * are compared.
 */
import type { Container, Pod, PodSpec, Volume, VolumeMount } from "../../../src/api/gen/core-v1.ts";
import type { ClusterNode } from "../../cluster/cluster.ts";
import { NODES, nameOn, type Side } from "../../golden/sides.ts";
import { type BothAgents } from "../../support/both-agents.ts";
import { BUSYBOX, STAY } from "../../support/cluster-pods.ts";
import { type ClusterFacts, clusterFacts } from "./cluster-facts.ts";
import { VIEW } from "./container-view.ts";
import type { Look } from "./observe.ts";

/** How far a pod gets. It is observed at that moment. */
export type Ending =
  | { readonly kind: "ends"; readonly phase: "Succeeded" | "Failed" }
  /** The pod runs and has printed what it sees, so its volumes exist while the node is inspected. */
  | { readonly kind: "runs" }
  /** A container waits with these reasons, one after the other. */
  | { readonly kind: "waits"; readonly reasons: readonly string[] }
  /** No container of the pod runs for that long under that agent. */
  | { readonly kind: "stays"; readonly forMs: Readonly<Record<Side, number>> }
  /** An event of the pod contains this text, and no container of the pod runs. */
  | { readonly kind: "told"; readonly text: string };

export const SUCCEEDS: Ending = { kind: "ends", phase: "Succeeded" };
export const FAILS: Ending = { kind: "ends", phase: "Failed" };
export const RUNS: Ending = { kind: "runs" };
export const waits = (...reasons: readonly string[]): Ending => ({ kind: "waits", reasons });
export const reported = (text: string): Ending => ({ kind: "told", text });

/** Where a pod is created. */
export interface Place {
  readonly side: Side;
  readonly node: string;
  /** Registries, as they precede an image's name. */
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

/** A value that is compared on neither side, because it is random under one of the agents. */
export interface LeftOut {
  readonly part: keyof Look;
  /** Matches keys of the part. */
  readonly keys: RegExp;
  readonly why: string;
}

export interface Case {
  /** Why the events of its pod have no order. */
  readonly eventsWithoutOrder?: string;
  /** Part of the pods' names; unique. */
  readonly name: string;
  /** The ledger rows that the case covers. */
  readonly rows: readonly string[];
  readonly ending: Ending;
  readonly spec: Partial<PodSpec> | ((place: Place) => Partial<PodSpec>);
  readonly metadata?: Pick<NonNullable<Pod["metadata"]>, "labels" | "annotations">;
  /** The case reaches its ending only after a retry. What waits forever is retried anyway. */
  readonly isTriedAgain?: true;
  readonly leavesOut?: LeftOut;
  /** The count of these events is random, but they always occur. */
  readonly repeats?: { readonly events: RegExp; readonly why: string };
  /** Replaces a plain create. */
  readonly create?: (world: World, pod: Pod, side: Side) => Promise<void>;
  /** Runs once every pod of the case has printed what it sees. Each pod then prints it again and exits. */
  readonly meanwhile?: (world: World) => Promise<void>;
}

export const podName = ({ name }: Pick<Case, "name">, side: Side): string => nameOn(side, name);

const waitsForEver = ({ ending }: Case): boolean =>
  ending.kind === "waits" || ending.kind === "told" || ending.kind === "stays";

/** True if the number of attempts is random. */
export const isTriedAgain = (one: Case): boolean => waitsForEver(one) || one.isTriedAgain === true;

export const failing = (one: Case): boolean =>
  waitsForEver(one) || (one.ending.kind === "ends" && one.ending.phase === "Failed");

const shell = (script: string, { name = "main", ...more }: Partial<Container>): Container => ({
  name,
  image: BUSYBOX,
  command: ["sh", "-c", script, "view"],
  ...more,
});

/** Prints what it sees and exits with 0. */
export const viewer = (container: Partial<Container> = {}): Container => shell(VIEW, container);
/** Prints what it sees and keeps running. */
export const lasting = (container: Partial<Container> = {}): Container => shell(`${VIEW}; ${STAY}`, container);
/**
 * Prints what it sees, and again once the shell condition holds and the `volumes` volumes have no old data directories.
 */
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

/** A pod that keeps running, with every volume at /v/<its name>. */
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

/** As `withVolumes`, with one volume called `data`. */
export const withVolume = (source: Omit<Volume, "name">, options: VolumePodOptions = {}): Partial<PodSpec> =>
  withVolumes([{ name: "data", ...source }], options);
