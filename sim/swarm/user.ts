/** Carries out a workload: creates objects, disks and images, and creates and deletes pods at their times. */
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { configMaps, pods, runtimeClasses, secrets, services } from "../../src/api/resources.ts";
import { kindOf } from "../fake-api-server/kinds.ts";
import { makeDisk } from "../scenarios/make-disk.ts";
import type { Stage } from "../scenarios/scenario.ts";
import { makeSmall } from "../small-node.ts";
import { apiObject } from "../workload/self-describing-objects.ts";
import type { Coverage } from "./coverage.ts";
import { KEPT_IMAGES, type PressurePlan } from "./pressure.ts";
import { mountsOfPods } from "./timed-faults.ts";
import {
  GUARDED_IMAGE,
  LOCAL_IMAGE,
  type ObjectPlan,
  type PodAction,
  type PodPlan,
  PULL_SECRET,
  type Workload,
} from "./workload.ts";

/** A plan that was carried out, and the UID of its pod. */
export interface Made {
  readonly plan: PodPlan;
  readonly uid: string;
}

const RETRY_MS = 1_000;
const LIFE_MS_MIN = 5;
/** Shorter than the delay before the next agent starts. */
const AFTER_DEATH_MS = 50;
/** Short enough for the consequences to settle before the end. */
const DEATH_WAIT_MS = 60_000;
const RESOURCES = { ConfigMap: configMaps, Secret: secrets } as const;

export class User {
  readonly made: Made[] = [];
  readonly #stage: Stage;
  readonly #workload: Workload;
  readonly #coverage: Coverage;
  readonly #atNextDeath = new Set<() => void>();

  constructor(stage: Stage, workload: Workload, coverage: Coverage) {
    this.#stage = stage;
    this.#workload = workload;
    this.#coverage = coverage;
  }

  begin(): void {
    const { world, node, oracle, put } = this.#stage;
    const { hostDirectories, disks, images, objects, services: serviceCount, pressure } = this.#workload;
    node.runtime.images.load(LOCAL_IMAGE, {});
    if (pressure !== undefined) this.#beginPressure(pressure);
    for (const directory of hostDirectories)
      oracle.volumes.guard(`${directory}/user-data`, `of the user in ${directory}\n`);
    for (const { name, path } of disks) makeDisk(this.#stage, name, path);
    for (const { name } of images) world.registry.add(name);
    // A registry without images would not exist at all.
    for (const name of ["registry.example/present:1", GUARDED_IMAGE]) world.registry.add(name);
    world.registry.guard("guarded.example", "user", "password");
    put(secrets, pullSecret);
    const pullMs = new Map(images.map((image) => [image.name, image.pullMs]));
    world.registry.pullMs = ({ host, path, tag }) => pullMs.get(`${host}/${path}:${tag}`) ?? 1_000;
    for (let index = 0; index < serviceCount; index += 1) put(services, serviceOf(index));
    for (const { name, atMs } of this.#workload.runtimeClasses)
      this.#at(atMs, () => void put(runtimeClasses, { ...RUNTIME_CLASS, metadata: { name } }));
    for (const object of objects) this.#follow(object);
    for (const plan of this.#workload.pods) this.#at(plan.createMs, () => this.#create(plan));
  }

  #beginPressure({ node: small, thresholds, staticPod }: PressurePlan): void {
    const { node, oracle, writeManifest } = this.#stage;
    makeSmall(node, small);
    oracle.evictions.thresholds = thresholds;
    oracle.images.kept = [KEPT_IMAGES];
    if (staticPod !== undefined) void writeManifest("hungry.json", staticPod);
  }

  #follow(object: ObjectPlan): void {
    for (const [index, { atMs, keys }] of object.changes.entries()) {
      const change = () => {
        const resource = RESOURCES[object.kind];
        this.#noteChange(object);
        if (keys === undefined) this.#stage.drop(resource, object.name);
        else this.#stage.put(resource, apiObject({ ...object, version: index + 1, keys }));
      };
      if (atMs === 0) change();
      else this.#at(atMs, change);
    }
  }

  #create(plan: PodPlan): void {
    const name = plan.pod.metadata?.name ?? "";
    // The predecessor of the same name is still terminating.
    if (this.#stage.pod(name) !== undefined) return this.#after(RETRY_MS, () => this.#create(plan));
    const uid = this.#stage.create(plan.pod);
    this.made.push({ plan, uid });
    const { fate, actions } = plan;
    for (const action of actions) {
      const act = () => {
        if (this.#stage.pod(name)?.metadata?.uid === uid) this.#do(name, action);
      };
      this.#at(action.atMs, action.kind === "resizes" && action.isAtDeath ? () => this.#atDeath(act) : act);
    }
    if (fate.kind === "stays") return;
    // At the time of the plan, however long the predecessor took to terminate.
    const leftMs = fate.atMs - this.#stage.world.clock.monotonicMs();
    this.#after(Math.max(LIFE_MS_MIN, leftMs), () => {
      if (this.#stage.pod(name)?.metadata?.uid !== uid) return;
      this.#noteEnd(uid);
      this.#stage.remove(name, fate.kind === "forced" ? 0 : undefined);
    });
  }

  /** To be called when an agent is about to die, or has just died. */
  agentDied(): void {
    const waiting = [...this.#atNextDeath];
    this.#atNextDeath.clear();
    for (const act of waiting) this.#after(AFTER_DEATH_MS, act);
  }

  #atDeath(act: () => void): void {
    this.#atNextDeath.add(act);
    this.#after(DEATH_WAIT_MS, () => {
      if (this.#atNextDeath.delete(act)) act();
    });
  }

  #do(name: string, action: PodAction): void {
    if (action.kind === "debugs") return this.#stage.addEphemeralContainer(name, action.container);
    const { node, world, resize, pod } = this.#stage;
    const phase = pod(name)?.status?.phase;
    if (phase === "Succeeded" || phase === "Failed") return;
    if (!node.isRunning) this.#coverage.note("a pod was resized while no agent ran");
    if (world.api.isAway) this.#coverage.note("a pod was resized while the API server was away");
    resize(name, action.containers, action.whole);
  }

  #noteChange({ kind, name }: ObjectPlan): void {
    for (const stored of this.#stage.world.api.store.values(kindOf(pods))) {
      const pod = stored as unknown as Pod;
      const uses = pod.spec?.volumes?.some(
        ({ configMap, secret }) => (kind === "ConfigMap" ? configMap?.name : secret?.secretName) === name,
      );
      if (uses === true && this.#isStarting(pod.metadata?.uid ?? ""))
        this.#coverage.note("an object changed while a pod that uses it started");
    }
  }

  #noteEnd(uid: string): void {
    if (this.#isStarting(uid)) this.#coverage.note("a pod was deleted while its volumes were set up");
  }

  /** Whether the node knows the pod and none of its containers has been started. */
  #isStarting(uid: string): boolean {
    const { node } = this.#stage;
    const runs = [...node.runtime.containers.values()].some(
      ({ config, process }) => config.labels?.["io.kubernetes.pod.uid"] === uid && process !== undefined,
    );
    if (runs) return false;
    const directory = node.files.disk.directory(`/var/lib/kubelet/pods/${uid}`);
    return directory !== undefined || mountsOfPods(node).some((path) => path.includes(uid));
  }

  #at(atMs: number, act: () => void): void {
    this.#after(atMs - this.#stage.world.clock.monotonicMs(), act);
  }

  #after(delayMs: number, act: () => void): void {
    this.#stage.world.clock.after(Math.max(0, delayMs), act);
  }
}

const RUNTIME_CLASS = { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", handler: "runc" };

const login = JSON.stringify({ auths: { "guarded.example": { username: "user", password: "password" } } });

const pullSecret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: PULL_SECRET, namespace: "default" },
  type: "kubernetes.io/dockerconfigjson",
  data: { ".dockerconfigjson": Buffer.from(login).toString("base64") },
};

const serviceOf = (index: number) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: `service${index}`, namespace: "default" },
  spec: { clusterIP: `198.19.0.${10 + index}`, ports: [{ name: "http", port: 80 + index }] },
});
