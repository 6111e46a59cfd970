/**
 * Decides which images are removed, in which order, and why each of the others stays. The executor removes the first
 * image of a plan and plans again, so the plan that `deckhand gc plan` shows is what happens if nothing changes.
 *
 * The least recently used image goes first, and among those the one that was first seen earliest. Images that no
 * container has used since the agent started count as used longest ago.
 */
import { matchesGlob } from "../../base/glob.ts";
import type { Image } from "../runtime/image.ts";
import { untagged } from "./image-use.ts";

/** Times of this process: after a restart every image is seen for the first time. */
export interface ImageRecord {
  readonly firstSeenMs: number;
  /** When the image was last seen in use. */
  readonly lastUsedMs: number | undefined;
}

/** By image ID. */
export type ImageRecords = ReadonlyMap<string, ImageRecord>;

export interface ImageGcPolicy {
  /** From this use of the image filesystem on, images are removed until it is `lowPercent`. */
  readonly highPercent: number;
  readonly lowPercent: number;
  /** Images seen for less than this are not removed for space. */
  readonly ageMsMin: number;
  /** Images unused for longer than this are removed. 0: no limit. */
  readonly ageMsMax: number;
  /** Globs of images that stay. */
  readonly keep: readonly string[];
  /** True: images of registries that were unreachable at the last pull stay. */
  readonly keepUnreachable: boolean;
}

export interface DiskUsage {
  readonly capacityBytes: bigint;
  readonly availableBytes: bigint;
}

export interface ImageGcState {
  readonly images: readonly Image[];
  readonly records: ImageRecords;
  /** By image ID. */
  readonly users: ReadonlyMap<string, string>;
  readonly unreachableRegistries: ReadonlySet<string>;
  /** Of the image filesystem. Undefined if it is not known: nothing is removed for space then. */
  readonly disk: DiskUsage | undefined;
  readonly nowMs: number;
}

/** "periodic": by age, then for space. "eviction": every image that nothing keeps. */
export type ImageGcTrigger = "periodic" | "eviction";
export type DeletionReason = "age" | "space" | "eviction";

/** What a run has done so far. The images that it removed are no longer in the state. */
export interface ImageGcProgress {
  readonly freedByAgeBytes: bigint;
  readonly freedBytes: bigint;
  /** Errors by image ID. */
  readonly failed: ReadonlyMap<string, string>;
}

export const NOTHING_FREED: ImageGcProgress = { freedByAgeBytes: 0n, freedBytes: 0n, failed: new Map() };

export interface Deletion {
  readonly image: Image;
  readonly reason: DeletionReason;
  readonly unusedMs: number;
}

export type KeepReason =
  | { readonly kind: "used"; readonly by: string }
  | { readonly kind: "pinned" }
  | { readonly kind: "rule"; readonly glob: string }
  | { readonly kind: "unreachable"; readonly registry: string }
  | { readonly kind: "failed"; readonly error: string }
  | { readonly kind: "young"; readonly ageMs: number }
  | { readonly kind: "notNeeded" };

export interface KeptImage {
  readonly image: Image;
  readonly reason: KeepReason;
}

export interface ImageGcPlan {
  readonly deletions: readonly Deletion[];
  readonly kept: readonly KeptImage[];
  /** Use of the image filesystem once images were removed by their age. */
  readonly usedPercent: number;
  /** What this run has to free for space, with what it has freed already. 0 below the high threshold. */
  readonly wantedBytes: bigint;
  /** The part of it that no image can free. */
  readonly shortBytes: bigint;
}

export const imageGcIsOff = ({ highPercent, ageMsMax }: ImageGcPolicy): boolean =>
  highPercent === 100 && ageMsMax === 0;

/** The records after these images were seen on the node. Images that are gone are forgotten. */
export const seenImages = (
  records: ImageRecords,
  { images, users, nowMs }: Pick<ImageGcState, "images" | "users" | "nowMs">,
): ImageRecords =>
  new Map(
    images.map(({ id }) => {
      const { firstSeenMs = nowMs, lastUsedMs } = records.get(id) ?? {};
      return [id, { firstSeenMs, lastUsedMs: users.has(id) ? nowMs : lastUsedMs }];
    }),
  );

export function imageGcPlan(
  state: ImageGcState,
  policy: ImageGcPolicy,
  trigger: ImageGcTrigger,
  { freedByAgeBytes, freedBytes, failed }: ImageGcProgress = NOTHING_FREED,
): ImageGcPlan {
  const kept: KeptImage[] = [];
  const candidates: Candidate[] = [];
  for (const image of state.images) {
    const reason = keepReason(image, state, policy, failed);
    if (reason === undefined) candidates.push(candidateOf(image, state));
    else kept.push({ image, reason });
  }
  candidates.sort(leastRecentlyUsedFirst);
  const isOld = ({ unusedMs }: Candidate) =>
    trigger === "periodic" && policy.ageMsMax > 0 && unusedMs > policy.ageMsMax;
  const deletions: Deletion[] = candidates.filter(isOld).map((old) => deletion(old, "age"));
  const byAgeBytes = freedByAgeBytes + sizeOf(deletions);
  const space = spaceToFree(state.disk, byAgeBytes, policy);
  let missing = trigger === "eviction" ? undefined : space.wantedBytes - freedBytes;
  for (const candidate of candidates.filter((each) => !isOld(each))) {
    const { image, ageMs } = candidate;
    if (missing !== undefined && missing <= 0n) kept.push({ image, reason: { kind: "notNeeded" } });
    else if (ageMs < policy.ageMsMin) kept.push({ image, reason: { kind: "young", ageMs } });
    else {
      deletions.push(deletion(candidate, trigger === "eviction" ? "eviction" : "space"));
      if (missing !== undefined) missing -= image.sizeBytes;
    }
  }
  return { deletions, kept, ...space, shortBytes: missing === undefined || missing < 0n ? 0n : missing };
}

interface Candidate {
  readonly image: Image;
  readonly ageMs: number;
  readonly unusedMs: number;
  readonly record: ImageRecord;
}

function candidateOf(image: Image, { records, nowMs }: ImageGcState): Candidate {
  const record = records.get(image.id) ?? { firstSeenMs: nowMs, lastUsedMs: undefined };
  const ageMs = nowMs - record.firstSeenMs;
  return { image, record, ageMs, unusedMs: nowMs - Math.max(record.firstSeenMs, record.lastUsedMs ?? 0) };
}

function leastRecentlyUsedFirst(a: Candidate, b: Candidate): number {
  const [usedA, usedB] = [a, b].map(({ record }) => record.lastUsedMs ?? Number.NEGATIVE_INFINITY);
  if (usedA !== usedB) return (usedA ?? 0) < (usedB ?? 0) ? -1 : 1;
  const byAge = a.record.firstSeenMs - b.record.firstSeenMs;
  return byAge === 0 ? (a.image.id < b.image.id ? -1 : 1) : byAge;
}

const deletion = ({ image, unusedMs }: Candidate, reason: DeletionReason): Deletion => ({ image, reason, unusedMs });

const sizeOf = (deletions: readonly Deletion[]): bigint =>
  deletions.reduce((sum, { image }) => sum + image.sizeBytes, 0n);

/** The Go kubelet's arithmetic, with its rounding. */
function spaceToFree(
  disk: DiskUsage | undefined,
  freedBytes: bigint,
  policy: ImageGcPolicy,
): { readonly usedPercent: number; readonly wantedBytes: bigint } {
  const { capacityBytes = 0n } = disk ?? {};
  if (disk === undefined || capacityBytes === 0n) return { usedPercent: 0, wantedBytes: 0n };
  const free = disk.availableBytes + freedBytes;
  const availableBytes = free > capacityBytes ? capacityBytes : free;
  const usedPercent = 100 - Number((availableBytes * 100n) / capacityBytes);
  const wantedBytes = (capacityBytes * BigInt(100 - policy.lowPercent)) / 100n - availableBytes;
  const isTooFull = usedPercent >= policy.highPercent && !imageGcIsOff(policy);
  return { usedPercent, wantedBytes: isTooFull && wantedBytes > 0n ? wantedBytes : 0n };
}

/** Why the image stays, whatever its age and the space. */
function keepReason(
  image: Image,
  { users, unreachableRegistries }: ImageGcState,
  { keep, keepUnreachable }: ImageGcPolicy,
  failed: ImageGcProgress["failed"],
): KeepReason | undefined {
  const by = users.get(image.id);
  if (by !== undefined) return { kind: "used", by };
  if (image.pinned) return { kind: "pinned" };
  const glob = keep.find((each) => matchesImage(each, image));
  if (glob !== undefined) return { kind: "rule", glob };
  const registry = keepUnreachable
    ? namesOf(image)
        .map(registryOf)
        .find((each) => unreachableRegistries.has(each))
    : undefined;
  if (registry !== undefined) return { kind: "unreachable", registry };
  const error = failed.get(image.id);
  return error === undefined ? undefined : { kind: "failed", error };
}

const namesOf = ({ tags, digests }: Image): readonly string[] => [...tags, ...digests];

/** The registry of an image's complete name. */
export const registryOf = (name: string): string => name.slice(0, Math.max(0, name.indexOf("/")));

/**
 * Whether the glob matches the whole of a tag, a digest, a name without tag and digest, or the ID of the image. An
 * asterisk stands for any text, slashes included; every other character stands for itself.
 */
function matchesImage(glob: string, image: Image): boolean {
  const names = namesOf(image);
  return [image.id, ...names, ...names.map(untagged)].some((name) => matchesGlob(glob, name));
}
