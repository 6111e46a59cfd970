/** The messages of events and statuses about images and pulls: the Go kubelet's texts, word for word. */
import { formatGoDuration } from "../../base/duration.ts";
import { goQuote } from "../../base/go-text.ts";
import { rpcErrorText } from "../../base/grpc-status.ts";
import { apiTime } from "../../base/timestamp.ts";

export const pullingText = (image: string): string => `Pulling image ${goQuote(image)}`;

export const presentText = (image: string): string =>
  `Container image ${goQuote(image)} already present on machine and can be accessed by the pod`;

export interface PullStats {
  readonly pullMs: number;
  readonly wholeMs: number;
  readonly sizeBytes: bigint;
}

/** A container that joined a running pull did not wait for all of it. */
export function pulledText(image: string, { pullMs, wholeMs, sizeBytes }: PullStats): string {
  const [pull, whole] = [Math.min(pullMs, wholeMs), wholeMs].map(milliseconds);
  return `Successfully pulled image ${goQuote(image)} in ${pull} (${whole} including waiting). Image size: ${sizeBytes} bytes.`;
}

const milliseconds = (ms: number): string => formatGoDuration(BigInt(Math.floor(ms)) * 1_000_000n);

export const failedPullText = (image: string, error: string): string =>
  `Failed to pull image ${goQuote(image)}: ${error}`;

export const backOffText = (image: string): string => `Back-off pulling image ${goQuote(image)}`;

export const neverPullText = (image: string): string =>
  `Container image ${goQuote(image)} is not present with pull policy of Never`;

export const invalidNameText = (image: string, why: string): string =>
  `Failed to apply default image tag ${goQuote(image)}: ${why}`;

/** The Go kubelet prints the name of the image that it found, and it found none. */
export const inspectFailedText = (error: string): string => `Failed to inspect image "": ${error}`;

export const secretsMissingText = (names: readonly string[]): string =>
  `Unable to retrieve some image pull secrets (${names.join(", ")}); attempting to pull the image may not succeed.`;

/** The pull rate limit applies with credentials and without. */
export const PULL_RATE_EXCEEDED = "pull QPS exceeded";

export interface PullFailure {
  /** The waiting reason of the container. */
  readonly reason: string;
  readonly message: string;
}

const KNOWN_CAUSES: readonly (readonly [reason: string, cause: string])[] = [
  ["RegistryUnavailable", "the registry is unavailable"],
  ["SignatureValidationFailed", "the signature validation failed"],
];

/** A runtime that knows the cause begins its error with the reason. */
export function pullFailure(image: string, error: string): PullFailure {
  for (const [reason, cause] of KNOWN_CAUSES) {
    if (error.startsWith(reason))
      return { reason, message: `image pull failed for ${image} because ${cause}${error.slice(reason.length)}` };
  }
  return { reason: "ErrImagePull", message: error };
}

/** The message of a container that waits for the next attempt; it keeps the last real error. */
export const imagePullBackOffText = (image: string, { reason, message }: PullFailure): string =>
  `${backOffText(image)}: ${reason}: ${message}`;

/** Appended to that message; the Go kubelet does not report it. */
export const nextTryText = (wallMs: number): string => `; next try at ${apiTime(wallMs)}`;

const IMAGE_REASONS: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "ImageInspectError",
  "InvalidImageName",
  ...KNOWN_CAUSES.map(([reason]) => reason),
]);

/** Whether a container that waits with this reason waits for its image. */
export const isImageReason = (reason: string): boolean => IMAGE_REASONS.has(reason);

/** The text of a pull error, without the code where that says nothing. */
export const pullErrorText = (code: string, detail: string): string =>
  withoutUrlSecrets(code === "unknown" ? detail : rpcErrorText(code, detail));

const URL_LOGIN = /(?<=\bhttps?:\/\/)[^\s/"'@]+@/g;
const URL_KEY =
  /(?<=[?&][\w.-]*(?:sig|signature|token|credential|password|secret|accesskey(?:id)?|key-pair-id|policy)=)[^&\s"']+/gi;

/** Registries redirect pulls to stores whose URLs contain credentials, and errors quote URLs. */
const withoutUrlSecrets = (text: string): string =>
  text.replaceAll(URL_LOGIN, "[redacted]@").replaceAll(URL_KEY, "[redacted]");
