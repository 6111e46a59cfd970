/**
 * One node that runs for simulated hours. Pods of several kinds come and go, crash and restart. Their volumes' contents
 * are edited, and their logs and the node's certificates are rotated. The world forgets what a cluster forgets with
 * time, so that whatever still grows belongs to the agent.
 */
import type { Pod } from "../src/api/gen/core-v1.ts";
import { certificateSigningRequests, configMaps, coreEvents, pods } from "../src/api/resources.ts";
import type { KubeletPorts } from "../src/app/wiring.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { type Kind, kindOf } from "./fake-api-server/kinds.ts";
import { scripted } from "./fake-runtime/behaviour.ts";
import { IdentityWorld } from "./identity-world.ts";
import { ordinaryPod } from "./workload/ordinary-pod.ts";
import { exits, SERVER } from "./workload/pod.ts";
import { apiObject } from "./workload/self-describing-objects.ts";
import { configMapPart, downwardPart, emptyDirPart, tokenPart } from "./workload/volume-parts.ts";
import type { World } from "./world.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const POD_EVERY_MS = 20 * SECOND_MS;
const LIVING_MAX = 8;
/** How long the API server keeps Events. */
const EVENTS_KEPT_MS = HOUR_MS;
const EDITED = "edited";

export interface LongLifeOptions {
  /** Replaces the ports that the agent receives. */
  readonly change?: (ports: KubeletPorts) => KubeletPorts;
}

export class LongLife {
  readonly #identity: IdentityWorld;
  readonly #living: string[] = [];
  #made = 0;

  constructor({ change }: LongLifeOptions = {}) {
    this.#identity = new IdentityWorld({
      lifeMs: HOUR_MS / 2,
      decide: () => ({ afterMs: SECOND_MS, verdict: "Approved" }),
      whole: true,
      flags: ["--container-log-max-size=20000", "--container-log-max-files=3"],
      ...(change === undefined ? {} : { change }),
    });
    this.#identity.node.runtime.images.load("busybox", {});
    this.#edit();
    this.world.api.writes.create(kindOf(pods), talker, ADMIN);
  }

  get world(): World {
    return this.#identity.world;
  }

  /** How many pods were created. */
  get made(): number {
    return this.#made;
  }

  /** How many client certificates the node has had. */
  get certificates(): number {
    return this.#identity.shown.length;
  }

  /** The error with which the agent ended by itself. */
  get failure(): unknown {
    return this.#identity.node.failure?.error;
  }

  /** Runs for `hours`, and stops at a time when no pod is being created or deleted. */
  async pass(hours: number): Promise<void> {
    const endMs = this.world.clock.monotonicMs() + hours * HOUR_MS;
    while (this.world.clock.monotonicMs() < endMs) {
      this.#turn();
      await this.world.advance(POD_EVERY_MS);
    }
    this.#forget();
    await this.world.advance(0);
  }

  #turn(): void {
    const { store, writes } = this.world.api;
    const name = `p${this.#made}`;
    writes.create(kindOf(pods), KINDS[this.#made % KINDS.length]?.(name) ?? {}, ADMIN);
    this.#living.push(name);
    this.#made += 1;
    if (this.#made % 3 === 0) this.#edit();
    const oldest = this.#living.length > LIVING_MAX ? this.#living.shift() : undefined;
    if (oldest === undefined || store.get(kindOf(pods), `default/${oldest}`) === undefined) return;
    writes.delete(kindOf(pods), { namespace: "default", name: oldest }, {}, ADMIN);
  }

  #edit(): void {
    const { store, writes } = this.world.api;
    const object = apiObject({ kind: "ConfigMap", name: EDITED, version: this.#made, keys: ["a", "b"] });
    const kind = kindOf(configMaps);
    if (store.get(kind, `default/${EDITED}`) === undefined) writes.create(kind, object, ADMIN);
    else writes.update(kind, object, undefined, ADMIN);
  }

  /**
   * Forgets what a cluster forgets: old Events and CertificateSigningRequests are removed, old versions are compacted.
   */
  #forget(): void {
    const { store } = this.world.api;
    const beforeWallMs = this.world.clock.trueWallMs() - EVENTS_KEPT_MS;
    const forget = (kind: Kind) => {
      for (const object of store.values(kind)) {
        if (Date.parse(object.metadata.creationTimestamp) < beforeWallMs) store.remove(kind, object);
      }
    };
    forget(kindOf(coreEvents));
    forget(kindOf(certificateSigningRequests));
    store.forgetChanges();
  }
}

/** A pod whose log is rotated again and again. */
const talker: Pod = ordinaryPod({ name: "talker", behaviour: { ...SERVER, tickEveryMs: SECOND_MS } });

const KINDS: readonly ((name: string) => Pod)[] = [
  (name) => ordinaryPod({ name }),
  (name) =>
    ordinaryPod({
      name,
      parts: [
        configMapPart("config", EDITED),
        tokenPart("token", EDITED),
        downwardPart("about"),
        emptyDirPart("empty"),
      ],
    }),
  (name) => ordinaryPod({ name, behaviour: exits(5 * SECOND_MS, 1) }),
  (name) => ordinaryPod({ name, behaviour: exits(SECOND_MS, 0), spec: { restartPolicy: "Never" } }),
  (name) => {
    const pod = ordinaryPod({ name, parts: [emptyDirPart("memory", "Memory")] });
    const command = [...scripted({ exit: { afterMs: 10, code: 0 } })];
    const containers = pod.spec?.containers.map((container) => ({
      ...container,
      livenessProbe: { exec: { command }, periodSeconds: 10 },
      readinessProbe: { exec: { command }, periodSeconds: 5 },
    }));
    const first = { name: "first", image: "busybox", imagePullPolicy: "IfNotPresent", command };
    return { ...pod, spec: { ...pod.spec, containers: containers ?? [], initContainers: [first] } };
  },
];
