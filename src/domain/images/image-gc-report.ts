/** What the next removal of unused images would do, for people and programs. */
import { assert } from "../../base/assert.ts";
import type { Image } from "../runtime/image.ts";
import { type DiskUsage, type ImageGcPlan, type ImageGcPolicy, imageGcIsOff } from "./image-gc.ts";
import { deletionText, keepText, sizeText } from "./image-gc-messages.ts";

export interface ReportedImage {
  readonly id: string;
  readonly names: readonly string[];
  readonly sizeBytes: number;
  readonly reason: string;
  /** The reason as a sentence. */
  readonly why: string;
}

export interface ImageGcReport {
  /** "waiting": not every source has delivered its pods yet. "off": images are removed for eviction only. */
  readonly state: "on" | "off" | "waiting";
  readonly highThresholdPercent: number;
  readonly lowThresholdPercent: number;
  readonly filesystem: ReportedFilesystem;
  readonly bytesToFree: number;
  /** The part of it that no image can free. */
  readonly bytesShort: number;
  readonly delete: readonly ReportedImage[];
  readonly keep: readonly ReportedImage[];
}

type ReportedFilesystem =
  | {
      readonly path: string;
      readonly capacityBytes: number;
      readonly availableBytes: number;
      readonly usedPercent: number;
    }
  | { readonly error: string };

export interface Planned {
  readonly plan: ImageGcPlan;
  readonly policy: ImageGcPolicy;
  readonly filesystem: (DiskUsage & { readonly path: string }) | { readonly error: string };
  readonly sourcesReady: boolean;
}

export function imageGcReport({ plan, policy, filesystem, sourcesReady }: Planned): ImageGcReport {
  const { highPercent, lowPercent } = policy;
  return {
    state: imageGcIsOff(policy) ? "off" : sourcesReady ? "on" : "waiting",
    highThresholdPercent: highPercent,
    lowThresholdPercent: lowPercent,
    filesystem: "error" in filesystem ? filesystem : reported(filesystem, plan),
    bytesToFree: Number(plan.wantedBytes),
    bytesShort: Number(plan.shortBytes),
    delete: plan.deletions.map((deletion) => ({
      ...imageOf(deletion.image),
      reason: deletion.reason,
      why: deletionText(deletion, policy),
    })),
    keep: plan.kept.map(({ image, reason }) => ({
      ...imageOf(image),
      reason: reason.kind,
      why: keepText(reason, policy),
    })),
  };
}

const reported = (
  { path, capacityBytes, availableBytes }: DiskUsage & { readonly path: string },
  { usedPercent }: ImageGcPlan,
): ReportedFilesystem => ({
  path,
  capacityBytes: Number(capacityBytes),
  availableBytes: Number(availableBytes),
  usedPercent,
});

const imageOf = ({ id, tags, digests, sizeBytes }: Image) => ({
  id,
  names: tags.length > 0 ? tags : digests,
  sizeBytes: Number(sizeBytes),
});

/** Reads the report as the agent sent it. */
export function parseImageGcReport(body: string): ImageGcReport {
  const parsed: unknown = JSON.parse(body);
  assert(
    typeof parsed === "object" && parsed !== null && "delete" in parsed && "keep" in parsed && "filesystem" in parsed,
    "the agent's answer is no plan of image garbage collection",
  );
  return parsed as ImageGcReport;
}

export function imageGcReportText(report: ImageGcReport): string {
  const { delete: deleted, keep } = report;
  const lines = [filesystemLine(report), stateLine(report)];
  if (report.bytesToFree > 0) {
    const short = report.bytesShort > 0 ? `, ${size(report.bytesShort)} of which no image can free` : "";
    lines.push(`To free: ${size(report.bytesToFree)}${short}.`);
  }
  if (deleted.length === 0) lines.push("No image would be removed.");
  else lines.push("", `Would be removed, in this order (${countOf(deleted)}):`, ...table(deleted));
  if (keep.length > 0) lines.push("", `Would stay (${countOf(keep)}):`, ...table(keep));
  return `${lines.join("\n")}\n`;
}

function filesystemLine({ filesystem }: ImageGcReport): string {
  if ("error" in filesystem) return `The usage of the image filesystem is unknown: ${filesystem.error}.`;
  const { path, usedPercent, capacityBytes } = filesystem;
  return `Image filesystem ${path}: ${usedPercent}% of ${size(capacityBytes)} used.`;
}

function stateLine({ state, highThresholdPercent: high, lowThresholdPercent: low }: ImageGcReport): string {
  const thresholds = `Images are removed from ${high}% on, down to ${low}%.`;
  switch (state) {
    case "on":
      return thresholds;
    case "waiting":
      return `${thresholds} Nothing is removed yet: not every source has delivered its pods.`;
    case "off":
      return "Images are removed for eviction only: imageGCHighThresholdPercent is 100 and imageMaximumGCAge is 0.";
  }
}

const size = (bytes: number): string => sizeText(BigInt(bytes));

const countOf = (images: readonly ReportedImage[]): string =>
  `${images.length} ${images.length === 1 ? "image" : "images"}, ${size(images.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0))}`;

function table(images: readonly ReportedImage[]): readonly string[] {
  const rows = images.map(({ id, names, sizeBytes, why }) => [names[0] ?? id, size(sizeBytes), why] as const);
  const [nameWidth, sizeWidth] = [0, 1].map((column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map(
    ([name, bytes, why]) => `  ${name.padEnd(nameWidth ?? 0)}  ${bytes.padStart(sizeWidth ?? 0)}  ${why}`,
  );
}
