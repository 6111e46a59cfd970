/**
 * What users do in one run of the swarm, drawn before it begins: objects that change, and pods that come and go, each
 * with its expected outcome.
 */
import type { Container, EnvVar, Pod, ResourceRequirements } from "../../src/api/gen/core-v1.ts";
import { type Behaviour } from "../fake-runtime/behaviour.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { claimOf, ordinaryPod } from "../workload/ordinary-pod.ts";
import { exits, SERVER } from "../workload/pod.ts";
import type { ObjectKind } from "../workload/self-describing-objects.ts";
import {
  claimPart,
  configMapPart,
  downwardPart,
  emptyDirPart,
  hostPathPart,
  imagePart,
  secretPart,
  subPathOf,
  tokenPart,
  type VolumePart,
} from "../workload/volume-parts.ts";
import { Draw } from "./draw.ts";
import { drawRivals, LATE_CLASS, withLifecycleFeatures } from "./lifecycle-features.ts";
import { drawHungryPods, drawPressure, type PressurePlan } from "./pressure.ts";
import { WHOLE_PODS_STAY, withResizes } from "./resizes.ts";

export interface ObjectPlan {
  readonly kind: ObjectKind;
  readonly name: string;
  /** In order of time. Without keys, the object is deleted. The last change has keys. */
  readonly changes: readonly { readonly atMs: number; readonly keys: readonly string[] | undefined }[];
}

export type PodFate =
  | { readonly kind: "stays" }
  | { readonly kind: "deleted"; readonly atMs: number }
  /** Deleted without grace: the object is removed at once, whatever still runs. */
  | { readonly kind: "forced"; readonly atMs: number };

/** What a user does to an existing pod. */
export type PodAction =
  | { readonly kind: "debugs"; readonly atMs: number; readonly container: Container }
  | {
      readonly kind: "resizes";
      readonly atMs: number;
      /** By container name. */
      readonly containers: Readonly<Record<string, ResourceRequirements>>;
      /** For the pod as a whole. */
      readonly whole?: ResourceRequirements;
      /** The user acts when the agent has just died, or after a minute without a death. */
      readonly isAtDeath: boolean;
    };

export interface PodPlan {
  readonly pod: Pod;
  readonly createMs: number;
  readonly fate: PodFate;
  readonly actions: readonly PodAction[];
  /**
   * The pod's expected outcome unless a user deletes it; "yields": it may be rejected, or preempted by a more important
   * pod.
   */
  readonly end: "runs" | "ends" | "crashes" | "waits" | "yields";
}

export interface Workload {
  /** Each contains user data. */
  readonly hostDirectories: readonly string[];
  readonly disks: readonly { readonly name: string; readonly path: string }[];
  /** Not on the node yet. */
  readonly images: readonly { readonly name: string; readonly pullMs: number }[];
  readonly objects: readonly ObjectPlan[];
  readonly pods: readonly PodPlan[];
  readonly services: number;
  /** By name: when the class is created, after pods that name it. */
  readonly runtimeClasses: readonly { readonly name: string; readonly atMs: number }[];
  /** Flags with which the agent of this node is started. */
  readonly flags: readonly string[];
  /** Undefined: the node has enough of everything. */
  readonly pressure: PressurePlan | undefined;
}

const ROOT_CA = "root-ca";
/** Named by pods, and never created. */
const NEVER_THERE = "never-there";
export const LOCAL_IMAGE = "busybox";
const ABSENT_IMAGE = "registry.example/absent:1";
/** Pulled only with the credentials of the pull secret. */
export const GUARDED_IMAGE = "guarded.example/app:1";
export const PULL_SECRET = "pull-secret";
const KEYS = ["b", "c.txt", "__proto__", "constructor", "d"];
const PODS_MAX = 12;
const CHANGES_MAX = 6;
const FIRST_MS = 1_500;
/** Share of the pods that are resized. */
const RESIZED = 0.5;
const UNDER_PRESSURE = 0.5;
const HOPELESS = 0.25;

interface Known extends Omit<Workload, "pods" | "services" | "runtimeClasses" | "flags" | "pressure"> {
  readonly configMaps: readonly string[];
  readonly secrets: readonly string[];
}

/** Which pods a run has: all kinds of them, or only those whose use of a small node changes. */
export type WorkloadKind = "all" | "hungry";

/** Draws a workload that happens entirely within `activeMs`. */
export function drawWorkload(random: SeededRandom, activeMs: number, kind: WorkloadKind): Workload {
  const draw = new Draw(random);
  const named = (letter: string, count: number) => Array.from({ length: count }, (_, index) => `${letter}${index}`);
  const configMaps = named("c", draw.whole(1, 3));
  const secrets = named("s", draw.whole(1, 3));
  const known: Known = {
    configMaps,
    secrets,
    hostDirectories: named("h", draw.whole(1, 2)).map((name) => `/data/${name}`),
    disks: named("d", draw.whole(0, 2)).map((name) => ({
      name,
      path: draw.pick([`/mnt/disks/${name}`, `/dev/${name}`]),
    })),
    images: named("app", draw.whole(0, 2)).map((name) => ({
      name: `registry.example/${name}:1`,
      pullMs: draw.whole(100, 8_000),
    })),
    objects: [
      { kind: "ConfigMap", name: ROOT_CA, changes: [{ atMs: 0, keys: ["ca.crt"] }] },
      ...configMaps.map((name) => drawObject(draw, "ConfigMap", name, activeMs)),
      ...secrets.map((name) => drawObject(draw, "Secret", name, activeMs)),
    ],
  };
  const pods = named("p", draw.whole(1, PODS_MAX)).flatMap((name) => drawLives(draw, name, known, activeMs));
  const lifecycle = new Draw(random.split("lives"));
  const runtimeClasses = lifecycle.chance(0.3)
    ? [{ name: LATE_CLASS, atMs: lifecycle.whole(FIRST_MS, activeMs / 2) }]
    : [];
  const lived = pods.map((plan) => withLifecycleFeatures(lifecycle, plan, { activeMs, runtimeClasses }));
  const rivals = lifecycle.chance(0.3) ? drawRivals(lifecycle, activeMs) : [];
  const resizes = new Draw(random.split("resizes"));
  const resized = lived.map((plan) => (resizes.chance(RESIZED) ? withResizes(resizes, plan, activeMs) : plan));
  const flags = resizes.chance(0.4) ? [WHOLE_PODS_STAY] : [];
  const shortages = new Draw(random.split("pressure"));
  const hopeless = new Draw(random.split("hopeless"));
  const pressure =
    shortages.chance(UNDER_PRESSURE) || kind === "hungry"
      ? drawPressure(shortages, hopeless.chance(HOPELESS))
      : undefined;
  const hungry = pressure === undefined ? [] : drawHungryPods(shortages, pressure.resources, activeMs);
  return {
    ...known,
    pods: kind === "hungry" ? hungry : [...resized, ...rivals, ...hungry],
    services: draw.whole(0, 3),
    runtimeClasses,
    flags: [...flags, ...(pressure?.flags ?? [])],
    pressure,
  };
}

function drawObject(draw: Draw, kind: ObjectKind, name: string, activeMs: number): ObjectPlan {
  const keys = () => ["a", ...draw.someOf(KEYS, 0.4)];
  const firstMs = draw.chance(0.7) ? 0 : draw.whole(FIRST_MS, activeMs / 2);
  const times = Array.from({ length: draw.whole(0, CHANGES_MAX) }, () => draw.whole(firstMs + 100, activeMs - 2_000));
  const changes = times.sort((a, b) => a - b).map((atMs) => ({ atMs, keys: draw.chance(0.15) ? undefined : keys() }));
  return {
    kind,
    name,
    changes: [{ atMs: firstMs, keys: keys() }, ...changes, { atMs: activeMs - 1_000, keys: keys() }],
  };
}

/** One name, and the pods that have it one after the other. */
function drawLives(draw: Draw, name: string, known: Known, activeMs: number): readonly PodPlan[] {
  const first = drawPod(draw, name, known, draw.whole(FIRST_MS, activeMs / 2), activeMs);
  if (first.fate.kind === "stays" || draw.chance(0.6)) return [first];
  return [
    first,
    drawPod(draw, name, known, Math.min(first.fate.atMs + draw.whole(0, 5_000), activeMs - 1_500), activeMs),
  ];
}

function drawPod(draw: Draw, name: string, known: Known, createMs: number, activeMs: number): PodPlan {
  const waits = draw.chance(0.08);
  const { behaviour, policy, end } = drawBehaviour(draw);
  const images = [LOCAL_IMAGE, LOCAL_IMAGE, GUARDED_IMAGE, ...known.images.map((image) => image.name)];
  const lacksImage = waits && draw.chance(0.5);
  const lacksObject = waits && !lacksImage;
  const parts = [...drawParts(draw, known), ...(lacksObject ? [secretPart("lacking", NEVER_THERE)] : [])];
  const env = drawEnvironment(draw, known);
  const image = lacksImage ? ABSENT_IMAGE : draw.pick(images);
  const pod = ordinaryPod({
    name,
    parts,
    behaviour,
    image,
    env,
    ...(draw.chance(0.3) ? { envFrom: [{ configMapRef: { name: draw.pick(known.configMaps) } }] } : {}),
    spec: {
      restartPolicy: policy,
      terminationGracePeriodSeconds: draw.whole(1, 8),
      ...(draw.chance(0.3) ? { securityContext: { fsGroup: 2000 } } : {}),
      ...(image === GUARDED_IMAGE ? { imagePullSecrets: [{ name: PULL_SECRET }] } : {}),
    },
  });
  return { pod, createMs, fate: drawFate(draw, createMs, activeMs), actions: [], end: waits ? "waits" : end };
}

function drawFate(draw: Draw, createMs: number, activeMs: number): PodFate {
  if (draw.chance(0.4)) return { kind: "stays" };
  const atMs = Math.min(
    createMs + (draw.chance(0.4) ? draw.whole(5, 3_000) : draw.whole(3_000, activeMs)),
    activeMs - 3_000,
  );
  return { kind: draw.chance(0.2) ? "forced" : "deleted", atMs: Math.max(atMs, createMs + 5) };
}

function drawBehaviour(draw: Draw): {
  readonly behaviour: Behaviour;
  readonly policy: "Always" | "OnFailure" | "Never";
  readonly end: PodPlan["end"];
} {
  const kind = draw.whole(1, 10);
  if (kind <= 6) return { behaviour: SERVER, policy: "Always", end: "runs" };
  // Ignores SIGTERM and uses up its grace period.
  if (kind === 7) return { behaviour: {}, policy: "Always", end: "runs" };
  if (kind === 8) return { behaviour: exits(draw.whole(2_000, 40_000), 1), policy: "Always", end: "crashes" };
  const policy = kind === 9 ? "Never" : "OnFailure";
  return { behaviour: exits(draw.whole(500, 30_000), 0), policy, end: "ends" };
}

function drawParts(draw: Draw, { configMaps, secrets, hostDirectories, disks, images }: Known): readonly VolumePart[] {
  const scratch = emptyDirPart("scratch");
  const settings = configMapPart("settings", draw.pick(configMaps));
  const data = hostPathPart("data", draw.pick(hostDirectories), draw.pick(["", "Directory", "DirectoryOrCreate"]));
  const kinds: readonly (() => readonly VolumePart[])[] = [
    () => [scratch],
    () => [settings],
    () => [secretPart("hidden", draw.pick(secrets))],
    () => [emptyDirPart("memory", "Memory")],
    () => [downwardPart("self")],
    () => [tokenPart("token", ROOT_CA, draw.pick([600, 3607]))],
    () => [data],
    () => [subPathOf(scratch, draw.pick(["deep", "deep/er"]))],
    () => [subPathOf(settings, "a")],
    () => [subPathOf(data, "made/here")],
    () => [configMapPart("maybe", NEVER_THERE, true)],
    () => [imagePart("files", draw.pick([LOCAL_IMAGE, ...images.map((image) => image.name)]))],
    () => (disks.length === 0 ? [] : [claimPart("disk", claimOf(draw.pick(disks).name))]),
  ];
  return draw.someOf(kinds, 0.4).flatMap((kind) => kind());
}

function drawEnvironment(draw: Draw, { configMaps, secrets }: Known): readonly EnvVar[] {
  const kinds: readonly (() => EnvVar)[] = [
    () => ({ name: "FROM_CONFIG", valueFrom: { configMapKeyRef: { name: draw.pick(configMaps), key: "a" } } }),
    () => ({ name: "FROM_SECRET", valueFrom: { secretKeyRef: { name: draw.pick(secrets), key: "a" } } }),
    () => ({ name: "MAYBE", valueFrom: { configMapKeyRef: { name: NEVER_THERE, key: "a", optional: true } } }),
    () => ({ name: "SELF", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }),
    () => ({ name: "JOINED", value: "$(SELF)-and-more" }),
  ];
  return draw.someOf(kinds, 0.3).map((kind) => kind());
}
