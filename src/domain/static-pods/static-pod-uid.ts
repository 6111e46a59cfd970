/**
 * Decides which UID a manifest has on this node. A new UID tears the pod down and sets it up again, so an unchanged
 * manifest must keep the UID that its containers run under. Across restarts of this agent the journal provides that
 * UID. At the switch from another kubelet, whose hashes cannot be recomputed, the running pod provides it.
 */
import type { Pod, PodSpec } from "../../api/gen/core-v1.ts";
import { canonicalJson } from "../../base/canonical-json.ts";
import type { JournalRecord } from "../journal/records.ts";
import { CONFIG_HASH, CONFIG_MIRROR, CONFIG_SOURCE, fullNameOf, keyOf } from "../pod/pod-identity.ts";
import type { Sandbox } from "../runtime/sandbox.ts";
import { originText, type StaticManifest } from "./static-pod-source.ts";

export type StaticPodFact = Extract<JournalRecord, { readonly kind: "staticPod" }>;

/** The journal's latest record of each static pod. */
export function staticPodFacts(records: Iterable<JournalRecord>): ReadonlyMap<string, StaticPodFact> {
  const facts = new Map<string, StaticPodFact>();
  for (const record of records) if (record.kind === "staticPod") facts.set(record.pod, record);
  return facts;
}

export interface StaticPodWorld {
  /** The journal's latest record of each pod, by "namespace/name". */
  readonly facts: ReadonlyMap<string, StaticPodFact>;
  /** The runtime's sandboxes; undefined until they were listed once. */
  readonly sandboxes: readonly Sandbox[] | undefined;
  /** Mirror pods by full name, as far as the API server has reported them. */
  readonly mirrors: ReadonlyMap<string, Pod>;
}

export type StaticUid =
  | { readonly kind: "known"; readonly uid: string; readonly configHash: string; readonly why: string }
  /** Undecided until the runtime's sandboxes were listed. */
  | { readonly kind: "waits" };

export function staticUidOf(manifest: StaticManifest, world: StaticPodWorld): StaticUid {
  const { pod, contentHash, ownUid, origin } = manifest;
  const given = pod.metadata?.uid ?? "";
  if (given !== "") return known(given, given, "the manifest has a UID");
  const own = known(ownUid, ownUid, "the hash of the manifest");
  const fact = world.facts.get(keyOf(pod));
  if (fact !== undefined) {
    const same = fact.contentHash === contentHash && fact.source === originText(origin);
    return same ? known(fact.uid, fact.configHash, "the manifest is unchanged since it was last read") : own;
  }
  if (world.sandboxes === undefined) return { kind: "waits" };
  const running = newestReady(world.sandboxes, manifest);
  if (running === undefined) return own;
  const hash = running.annotations[CONFIG_HASH] ?? running.metadata.uid;
  const mirror = world.mirrors.get(fullNameOf(pod));
  // A mirror pod with another hash says nothing about what is running.
  if (mirror?.metadata?.annotations?.[CONFIG_MIRROR] === hash && !saysTheSame(mirror, pod)) return own;
  return known(running.metadata.uid, hash, "it was found running under this UID");
}

const known = (uid: string, configHash: string, why: string): StaticUid => ({ kind: "known", uid, configHash, why });

function newestReady(sandboxes: readonly Sandbox[], { pod, origin }: StaticManifest): Sandbox | undefined {
  return sandboxes
    .filter(
      ({ state, metadata, annotations }) =>
        state === "ready" &&
        metadata.uid !== "" &&
        metadata.name === pod.metadata?.name &&
        metadata.namespace === pod.metadata?.namespace &&
        annotations[CONFIG_SOURCE] === origin.kind,
    )
    .reduce<Sandbox | undefined>(
      (newest, one) => (newest === undefined || one.createdWallNs > newest.createdWallNs ? one : newest),
      undefined,
    );
}

/** Fields that the API server and its plugins add to any pod. */
const added: readonly (keyof PodSpec)[] = ["nodeName", "priority", "preemptionPolicy", "tolerations", "schedulerName"];

/** Whether a mirror pod was created from a manifest with the same content. */
function saysTheSame(mirror: Pod, pod: Pod): boolean {
  const text = ({ metadata, spec }: Pod) => {
    const own = Object.entries(spec ?? {}).filter(([field]) => !added.includes(field as keyof PodSpec));
    return canonicalJson(withoutEmpty({ labels: metadata?.labels, spec: Object.fromEntries(own) }));
  };
  return text(mirror) === text(pod);
}

/** On the wire, an empty value and an absent value are the same. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map((item: unknown) => withoutEmpty(item) ?? {});
  if (typeof value !== "object" || value === null) return value || undefined;
  const fields = Object.entries(value)
    .map(([key, item]) => [key, withoutEmpty(item)] as const)
    .filter(([, item]) => item !== undefined);
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}
