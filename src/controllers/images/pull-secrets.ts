/** Reads the image pull Secrets that a pod names, as far as they are known. */

import type { Pod, Secret } from "../../api/gen/core-v1.ts";
import type { ApiObject } from "../../api/resource.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import { type KnownObject, objectKey } from "../../domain/cluster-objects/references.ts";
import type { Clock } from "../../ports/clock.ts";
import { waitForObjects } from "../cluster-objects/wait-for-objects.ts";

export type ReferencedObjects = ReadonlyTable<string, KnownObject<ApiObject>>;

export interface PullSecrets {
  /** In the order in which the pod names them. */
  readonly present: readonly Secret[];
  readonly missing: readonly string[];
  readonly versions: SecretVersions;
}

/** UID and resource version of each Secret when it was read, by object key; "" if the Secret was not present. */
export type SecretVersions = ReadonlyMap<string, string>;

/** Waits briefly for Secrets that are still unknown. */
export async function readPullSecrets(
  pod: Pod,
  { referencedObjects, clock }: { readonly referencedObjects: ReferencedObjects; readonly clock: Clock },
  signal: AbortSignal,
): Promise<PullSecrets> {
  const named = namesOf(pod).map((name) => [name, keyOf(pod, name)] as const);
  const keys = named.map(([, key]) => key);
  await waitForObjects(keys, referencedObjects, clock, signal);
  const present: Secret[] = [];
  const missing: string[] = [];
  for (const [name, key] of named) {
    const known = referencedObjects.get(key);
    if (known?.kind === "present") present.push(known.object);
    else missing.push(name);
  }
  return { present, missing, versions: new Map(keys.map((key) => [key, versionOf(referencedObjects.get(key))])) };
}

/** Whether a Secret has changed or appeared. A Secret that is currently unknown does not count as changed. */
export const haveChanged = (before: SecretVersions, referencedObjects: ReferencedObjects): boolean =>
  [...before].some(([key, version]) => {
    const known = referencedObjects.get(key);
    return known !== undefined && known.kind !== "unknown" && versionOf(known) !== version;
  });

/** Empty names are skipped: API validation allows them. */
const namesOf = ({ spec }: Pod): readonly string[] =>
  (spec?.imagePullSecrets ?? []).map(({ name }) => name ?? "").filter((name) => name !== "");

const keyOf = ({ metadata }: Pod, name: string): string => objectKey("Secret", metadata?.namespace ?? "", name);

function versionOf(known: KnownObject<ApiObject> | undefined): string {
  if (known?.kind !== "present") return "";
  const { uid = "", resourceVersion = "" } = known.object.metadata ?? {};
  return `${uid} ${resourceVersion}`;
}
