/**
 * Shared by the file and URL sources: turns bytes into manifests and manifests into pods with UIDs. A UID is journaled
 * before it is used, so the same manifest has the same UID after a crash.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { keyOf } from "../../domain/pod/pod-identity.ts";
import { podListItems } from "../../domain/static-pods/decode-pod.ts";
import {
  identified,
  type ManifestOrigin,
  originText,
  prepareManifest,
  type StaticManifest,
} from "../../domain/static-pods/static-pod-source.ts";
import { type StaticPodFact, type StaticPodWorld, staticUidOf } from "../../domain/static-pods/static-pod-uid.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";
import { parseManifest } from "./parse-manifest.ts";

export type ReadManifests =
  | { readonly kind: "ok"; readonly manifests: readonly StaticManifest[] }
  | { readonly kind: "refused"; readonly reason: string };

/** `lists`: whether a list of pods is accepted besides a single pod. */
export function readManifests(
  bytes: Uint8Array,
  origin: ManifestOrigin,
  nodeName: string,
  options: { readonly lists: boolean },
): ReadManifests {
  const parsed = parseManifest(bytes);
  if (parsed.kind === "malformed") {
    return { kind: "refused", reason: `couldn't parse as pod(${parsed.detail}), please check config file` };
  }
  const items = (options.lists ? podListItems(parsed.value) : undefined) ?? [parsed.value];
  const manifests: StaticManifest[] = [];
  for (const item of items) {
    const prepared = prepareManifest(item, origin, nodeName);
    if (prepared.kind === "refused") return prepared;
    manifests.push(prepared.manifest);
  }
  return { kind: "ok", manifests };
}

/** What other loops know about running static pods. */
export interface RunningPods {
  readonly sandboxes: StaticPodWorld["sandboxes"];
  readonly mirrors: StaticPodWorld["mirrors"];
}

export class StaticPodNamer {
  readonly #facts: Map<string, StaticPodFact>;
  readonly #ports: { readonly journal: Pick<Journal, "append">; readonly clock: Clock };
  readonly #running: () => RunningPods;

  /** `facts` come from the journal at startup, keyed by pod. */
  constructor(
    ports: { readonly journal: Pick<Journal, "append">; readonly clock: Clock },
    facts: ReadonlyMap<string, StaticPodFact>,
    running: () => RunningPods,
  ) {
    this.#ports = ports;
    this.#facts = new Map(facts);
    this.#running = running;
  }

  /** Like `name`, but also undefined when the journal cannot be written now. The caller retries in both cases. */
  async nameIfPossible(manifests: readonly StaticManifest[], log: Log): Promise<readonly Pod[] | undefined> {
    try {
      return await this.name(manifests);
    } catch (error) {
      log.error("Failed to record the UID of a static pod", error);
      return undefined;
    }
  }

  /** Returns the pods with their UIDs; undefined while one of them cannot have its UID yet. */
  async name(manifests: readonly StaticManifest[]): Promise<readonly Pod[] | undefined> {
    const pods: Pod[] = [];
    for (const manifest of manifests) {
      const named = staticUidOf(manifest, { facts: this.#facts, ...this.#running() });
      if (named.kind === "waits") return undefined;
      const { uid, configHash } = named;
      await this.#remember(manifest, uid, configHash);
      pods.push(identified(manifest, uid, configHash));
    }
    return pods;
  }

  async #remember({ pod, contentHash, origin }: StaticManifest, uid: string, configHash: string): Promise<void> {
    const key = keyOf(pod);
    const source = originText(origin);
    const before = this.#facts.get(key);
    if (before?.uid === uid && before.contentHash === contentHash && before.source === source) return;
    const wallMs = this.#ports.clock.wallMs();
    const fact: StaticPodFact = { kind: "staticPod", uid, pod: key, wallMs, source, contentHash, configHash };
    await this.#ports.journal.append(fact);
    this.#facts.set(key, fact);
  }
}
