/**
 * The two checkpoint files in which the Go kubelet keeps the allocated and the actuated resources of pods. A Go kubelet
 * does not start if it finds a wrong checksum. Deckhand's files also name their writer. The Go kubelet ignores that
 * field and drops it with its first write.
 */
import type { ResourceRequirements } from "../../api/gen/core-v1.ts";
import { fnv1a32 } from "../../base/fnv.ts";
import { goJson } from "../../base/go-json.ts";
import { parseQuantity } from "../../base/quantity.ts";
import { utf8Bytes } from "../../base/utf8.ts";
import type { ResourceAllocation } from "./allocation.ts";
import { requirementsInOrder } from "./texts.ts";

export const ALLOCATED_FILE = "allocated_pods_state";
export const ACTUATED_FILE = "actuated_pods_state";

const WRITER = "deckhand";

/** By UID. */
export type ResourceAllocations = ReadonlyMap<string, ResourceAllocation>;

export type Checkpoint =
  | { readonly kind: "read"; readonly pods: ResourceAllocations; readonly isOwn: boolean }
  | { readonly kind: "corrupt"; readonly why: string };

export function encodeCheckpoint(pods: ResourceAllocations): string {
  const entries: (readonly [string, unknown])[] = inOrder(pods).map(([uid, { containers, podLevel }]) => [
    uid,
    {
      ContainerResources: Object.fromEntries(
        inOrder(Object.entries(containers)).map(([name, own]) => [name, requirementsInOrder(own)]),
      ),
      PodLevelResources: podLevel === undefined ? null : requirementsInOrder(podLevel),
    },
  ]);
  const data = goJson(entries.length === 0 ? {} : { entries: Object.fromEntries<unknown>(entries) });
  return goJson({ data, checksum: checksumOf(data), writer: WRITER });
}

const inOrder = <V>(entries: Iterable<readonly [string, V]>) => [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1));

export const checksumOf = (data: string): number => fnv1a32(utf8Bytes(`(string)${data}`));

export function decodeCheckpoint(text: string): Checkpoint {
  const corrupt = (why: string): Checkpoint => ({ kind: "corrupt", why });
  const outer = parsed(text);
  const { data, checksum, writer } = outer ?? {};
  if (typeof data !== "string") return corrupt("it holds no data");
  if (checksum !== checksumOf(data)) return corrupt(`its checksum is not ${checksumOf(data)}`);
  const inner = parsed(data);
  if (inner === undefined) return corrupt("its data is no JSON object");
  const pods = new Map<string, ResourceAllocation>();
  for (const [uid, entry] of Object.entries(asObject(inner["entries"]) ?? {})) {
    const allocation = allocationFrom(asObject(entry));
    if (allocation === undefined) return corrupt(`its entry ${uid} is not understood`);
    pods.set(uid, allocation);
  }
  return { kind: "read", pods, isOwn: writer === WRITER };
}

type JsonObject = Readonly<Record<string, unknown>>;

const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;

function parsed(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    // Text that is not JSON is corrupt, which the caller reports.
    return undefined;
  }
}

function allocationFrom(entry: JsonObject | undefined): ResourceAllocation | undefined {
  if (entry === undefined) return undefined;
  const { ContainerResources: own, PodLevelResources: whole } = entry;
  const containers = Object.entries(own === null || own === undefined ? {} : (asObject(own) ?? { "": undefined }));
  if (!containers.every(([, value]) => isRequirements(value))) return undefined;
  if (whole !== null && whole !== undefined && !isRequirements(whole)) return undefined;
  return {
    containers: Object.fromEntries(containers) as Record<string, ResourceRequirements>,
    ...(isRequirements(whole) ? { podLevel: whole } : {}),
  };
}

/** Also used for journal records: everything read from a disk is validated. */
export function isAllocation(value: unknown): value is ResourceAllocation {
  const { containers, podLevel } = asObject(value) ?? {};
  const all = asObject(containers);
  return (
    all !== undefined &&
    Object.values(all).every(isRequirements) &&
    (podLevel === undefined || isRequirements(podLevel))
  );
}

function isRequirements(value: unknown): value is ResourceRequirements {
  const { requests, limits } = asObject(value) ?? { requests: "" };
  return [requests, limits].every((list) => list === undefined || isQuantities(list));
}

function isQuantities(value: unknown): boolean {
  const list = asObject(value);
  return list !== undefined && Object.values(list).every((text) => typeof text === "string" && isQuantity(text));
}

function isQuantity(text: string): boolean {
  try {
    parseQuantity(text);
    return true;
  } catch {
    // parseQuantity throws only for text that is not a quantity.
    return false;
  }
}
