/** Reports what the next removal of unused images would do, and changes nothing. */
import { errorText } from "../../base/error-text.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import { type ImageGcPolicy, imageGcPlan } from "../../domain/images/image-gc.ts";
import { type ImageGcReport, imageGcReport } from "../../domain/images/image-gc-report.ts";
import { type ImageGcReading, readImageFilesystem, readImages, stateOf } from "./image-gc-state.ts";

export interface ImageGcReportParts extends ImageGcReading {
  readonly policy: ImageGcPolicy;
  readonly sourcesReady: Latest<boolean>;
}

/** Rejects if the runtime's images or containers cannot be read. */
export async function reportImageGc(parts: ImageGcReportParts, signal: AbortSignal): Promise<ImageGcReport> {
  const { policy, sourcesReady } = parts;
  const found = await readImages(parts, signal);
  const filesystem = await readImageFilesystem(parts, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    return { error: errorText(error) };
  });
  const disk = "error" in filesystem ? undefined : filesystem;
  const plan = imageGcPlan(stateOf(found, disk, parts), policy, "periodic");
  return imageGcReport({ plan, policy, filesystem, sourcesReady: sourcesReady.value });
}
