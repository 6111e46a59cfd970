/** The Secrets that a pod names for its pulls, as far as they are known. */

import type { Pod, Secret } from "../../api/gen/core-v1.ts";
import type { ApiObject } from "../../api/resource.ts";
import type { ReadTable } from "../../concurrency/latest-table.ts";
import { type KnownObject, objectKey } from "../../domain/cluster-objects/known-object.ts";
import type { Clock } from "../../ports/clock.ts";
import { heardOf } from "../cluster-objects/heard-of.ts";

export type ReferencedObjects = ReadTable<string, KnownObject<ApiObject>>;

export interface PullSecrets {
  /** In the order in which the pod names them. */
  readonly present: readonly Secret[];
  readonly missing: readonly string[];
  readonly versions: SecretVersions;
}

/** What each was when it was read, by its key; "" where it was not there. */
export type SecretVersions = ReadonlyMap<string, string>;

/** Waits a moment for those that nobody has heard of yet. */
export async function readPullSecrets(
  pod: Pod,
  { referencedObjects, clock }: { readonly referencedObjects: ReferencedObjects; readonly clock: Clock },
  signal: AbortSignal,
): Promise<PullSecrets> {
  const named = namesOf(pod).map((name) => [name, keyOf(pod, name)] as const);
  const keys = named.map(([, key]) => key);
  await heardOf(keys, referencedObjects, clock, signal);
  const present: Secret[] = [];
  const missing: string[] = [];
  for (const [name, key] of named) {
    const known = referencedObjects.get(key);
    if (known?.kind === "present") present.push(known.object);
    else missing.push(name);
  }
  return { present, missing, versions: new Map(keys.map((key) => [key, versionOf(referencedObjects.get(key))])) };
}

/** Whether one of them is another than it was, or there now. That one is not heard of at the moment says nothing. */
export const haveChanged = (before: SecretVersions, referencedObjects: ReferencedObjects): boolean =>
  [...before].some(([key, version]) => {
    const known = referencedObjects.get(key);
    return known !== undefined && known.kind !== "unknown" && versionOf(known) !== version;
  });

/** The API server lets empty names pass. */
const namesOf = ({ spec }: Pod): readonly string[] =>
  (spec?.imagePullSecrets ?? []).map(({ name }) => name ?? "").filter((name) => name !== "");

const keyOf = ({ metadata }: Pod, name: string): string => objectKey("Secret", metadata?.namespace ?? "", name);

function versionOf(known: KnownObject<ApiObject> | undefined): string {
  if (known?.kind !== "present") return "";
  const { uid = "", resourceVersion = "" } = known.object.metadata ?? {};
  return `${uid} ${resourceVersion}`;
}
