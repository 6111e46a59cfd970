/**
 * Messages about the removal of images. Events and errors have the Go kubelet's texts, followed by what only Deckhand
 * reports.
 */
import { firstBytes } from "../../base/cut-text.ts";
import { formatGoDuration } from "../../base/duration.ts";
import { aggregate } from "../../base/go-text.ts";
import type { Image } from "../runtime/image.ts";
import type { Deletion, DiskUsage, ImageGcPlan, ImageGcPolicy, KeepReason, KeptImage } from "./image-gc.ts";

export const INVALID_CAPACITY = "invalid capacity 0 on image filesystem";

const duration = (ms: number): string => formatGoDuration(BigInt(Math.floor(ms)) * 1_000_000n);
const wholeSeconds = (ms: number): string => duration(Math.floor(ms / 1000) * 1000);

export const ageErrorText = (ageMsMax: number, errors: readonly string[]): string =>
  `wanted to free images older than ${duration(ageMsMax)}, encountered errors in image deletion: ${aggregate(errors)}`;

export const spaceErrorText = (wantedBytes: bigint, freedBytes: bigint, errors: readonly string[]): string =>
  `wanted to free ${wantedBytes} bytes, but freed ${freedBytes} bytes space with errors in image deletion: ${aggregate(errors)}`;

/** The Go kubelet requests this many bytes to get rid of every unused image. */
export const EVERYTHING_BYTES = 2n ** 63n - 1n;

export const noSpaceText = (
  { usedPercent }: Pick<ImageGcPlan, "usedPercent">,
  { capacityBytes }: DiskUsage,
  freedBytes: bigint,
): string =>
  `Insufficient free disk space on the node's image filesystem (${usedPercent}% of ${sizeText(capacityBytes)} used). Failed to free sufficient space by deleting unused images (freed ${freedBytes} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;

/** The API server rejects longer messages. */
const MESSAGE_BYTES_MAX = 1024;

/** Appended if no image could be removed: the largest images, and why each stays. */
export function withKeptImages(text: string, kept: readonly KeptImage[], policy: ImageGcPolicy): string {
  if (kept.length === 0) return `${text} There is no image on this node.`;
  const listed = kept
    .toSorted((a, b) => (a.image.sizeBytes < b.image.sizeBytes ? 1 : -1))
    .map(({ image, reason }) => `${imageText(image)} (${sizeText(image.sizeBytes)}, ${keepText(reason, policy)})`);
  const whole = `${text} No image can be removed: ${listed.join(", ")}.`;
  const cut = firstBytes(whole, MESSAGE_BYTES_MAX);
  return cut === whole ? whole : `${firstBytes(whole, MESSAGE_BYTES_MAX - 3)}...`;
}

/** The name by which people know an image. */
export const imageText = ({ id, tags, digests }: Image): string => tags[0] ?? digests[0] ?? id;

export function keepText(reason: KeepReason, { ageMsMin }: Pick<ImageGcPolicy, "ageMsMin">): string {
  switch (reason.kind) {
    case "used":
      return `used by ${reason.by}`;
    case "pinned":
      return "pinned by the container runtime";
    case "rule":
      return `kept by --deckhand-image-gc-keep=${reason.glob}`;
    case "unreachable":
      return `kept by --deckhand-image-gc-keep-unreachable: ${reason.registry} was unreachable at the last pull`;
    case "failed":
      return `failed to remove it: ${reason.error}`;
    case "young":
      return `first seen ${wholeSeconds(reason.ageMs)} ago, imageMinimumGCAge is ${duration(ageMsMin)}`;
    case "notNeeded":
      return "unused, but its space is not needed";
  }
}

export function deletionText({ reason, unusedMs }: Deletion, { ageMsMax }: Pick<ImageGcPolicy, "ageMsMax">): string {
  const unused = `unused for ${wholeSeconds(unusedMs)}`;
  switch (reason) {
    case "age":
      return `${unused}, imageMaximumGCAge is ${duration(ageMsMax)}`;
    case "space":
      return `${unused}, its space is needed`;
    case "eviction":
      return `${unused}, the node is short of disk space`;
  }
}

const UNITS = ["KiB", "MiB", "GiB", "TiB"] as const;

/** As the Go kubelet formats sizes. */
export function sizeText(bytes: bigint): string {
  if (bytes < 1024n) return `${bytes} B`;
  const exponent = Math.min(UNITS.length, UNITS.findIndex((_, index) => bytes < 1024n ** BigInt(index + 2)) + 1 || 4);
  const unit = 1024n ** BigInt(exponent);
  return `${tenths(bytes, unit)} ${UNITS[exponent - 1]}`;
}

/** Ties go to the even digit, as with Go's %.1f. */
function tenths(bytes: bigint, unit: bigint): string {
  const [whole, rest] = [(bytes * 10n) / unit, (bytes * 10n) % unit];
  const isUp = rest * 2n > unit || (rest * 2n === unit && whole % 2n === 1n);
  const rounded = isUp ? whole + 1n : whole;
  return `${rounded / 10n}.${rounded % 10n}`;
}
