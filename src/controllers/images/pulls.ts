/**
 * Ensures that images are on the node; no other module pulls images.
 *
 * Callers never wait for a pull. `ensure` returns "underWay", the cell `pullsUnderWay` shows the progress, and the
 * caller repeats the request when the entry is settled; that request gets the result of the pull once. A failed pull
 * backs off for all requesters of the same image within the pod; a change of the pod's Secrets ends the backoff at
 * once. A pull without waiters is canceled.
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable } from "../../concurrency/latest-table.ts";
import { TokenBucket } from "../../concurrency/token-bucket.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import type { CredentialsByRegistry } from "../../domain/images/docker-config.ts";
import type { ImageAnswer, PresentImage } from "../../domain/images/image-answer.ts";
import { registryOf } from "../../domain/images/image-gc.ts";
import { type ImageName, parseImageName, pullableName } from "../../domain/images/image-name.ts";
import {
  backOffText,
  failedPullText,
  imagePullBackOffText,
  invalidNameText,
  nextTryText,
  type PullFailure,
  pulledText,
  pullFailure,
  pullingText,
  secretsMissingText,
} from "../../domain/images/pull-messages.ts";
import { afterFailedPull, type PullBackoff, pullBackoffLeftMs } from "../../domain/images/pull-policy.ts";
import { type PullProgress, pullKey, type UnderWay } from "../../domain/images/pull-progress.ts";
import { credentialsFor, credentialsOfSecret } from "../../domain/images/registry-credentials.ts";
import { afterPull } from "../../domain/images/registry-reachability.ts";
import type { ImageMetrics } from "../../domain/metrics/image-metrics.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { ImageSpec, RegistryCredentials } from "../../domain/runtime/image.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Images } from "../../ports/images.ts";
import type { Log } from "../../ports/log.ts";
import { type CredentialDirectories, readNodeCredentials } from "./node-credentials.ts";
import { type EmitEvent, imageOnNode, refused } from "./node-image.ts";
import { type Pulled, type PullParts, pullImage } from "./pull-call.ts";
import { type PullOutcome, PullQueue } from "./pull-queue.ts";
import {
  haveChanged,
  type PullSecrets,
  type ReferencedObjects,
  readPullSecrets,
  type SecretVersions,
} from "./pull-secrets.ts";

export interface PullLimits {
  /** Maximum number of parallel pulls. */
  readonly most: number;
  /** 0 means no rate limit. */
  readonly perSecond: number;
  readonly burst: number;
}

export interface ImagePullOptions {
  readonly images: Pick<Images, "pullImage" | "imageStatus">;
  readonly files: Pick<HostFiles, "facts" | "read" | "readLink">;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Log;
  readonly referencedObjects: ReferencedObjects;
  readonly pullsUnderWay: LatestTable<string, PullProgress>;
  /** Registries that could not be reached at the last pull from them. */
  readonly unreachableRegistries: LatestCell<ReadonlySet<string>>;
  readonly limits: PullLimits;
  readonly directories: CredentialDirectories;
  readonly imageMetrics?: ImageMetrics;
}

export interface ImageRequest {
  readonly pod: Pod;
  /** The container or volume of the pod that requests the image; unique within the pod. */
  readonly requester: string;
  readonly image: string;
  readonly policy: string;
  readonly sandbox: SandboxConfig;
  /** Emits an event about the requester. */
  readonly emit: EmitEvent;
}

/** The state of one requester's pull, until the requester has received the result. */
type PullRequest = { readonly image: string } & (
  | { readonly kind: "underWay"; readonly leave: () => void }
  | { readonly kind: "pulled"; readonly present: PresentImage }
  | { readonly kind: "failed"; readonly failure: PullFailure }
);

/** The last pull failure of an image, shared by the whole pod. */
interface FailedPull {
  readonly failure: PullFailure;
  readonly backoff: PullBackoff;
  readonly nextTryWallMs: number;
  readonly requester: string;
  /** The Secrets used for the failed pull. */
  readonly secrets: SecretVersions;
  readonly outcome: PullOutcome<Pulled>;
}

interface PodPulls {
  readonly requests: Map<string, PullRequest>;
  /** By image reference. */
  readonly failedPulls: Map<string, FailedPull>;
}

/**
 * A failure is reported as itself for this long before it becomes ImagePullBackOff; otherwise users might never see it.
 */
const FAILURE_SHOWN_MS = 1_000;

export class ImagePulls {
  readonly #options: ImagePullOptions;
  readonly #parts: PullParts;
  readonly #queue: PullQueue<Pulled>;
  readonly #pods = new Map<string, PodPulls>();

  constructor(options: ImagePullOptions) {
    const { clock, images, limits, imageMetrics } = options;
    this.#options = options;
    this.#parts = {
      images,
      clock,
      rate: limits.perSecond === 0 ? undefined : new TokenBucket(clock, limits),
      ...(imageMetrics && { imageMetrics }),
    };
    this.#queue = new PullQueue(limits.most);
  }

  /** Runs until the signal aborts and all calls have ended. */
  async run(shutdown: AbortSignal): Promise<void> {
    const unwatch = this.#options.referencedObjects.watch((key) => this.#secretChanged(key));
    const { promise, resolve } = Promise.withResolvers<void>();
    shutdown.addEventListener("abort", () => resolve(), { once: true });
    if (shutdown.aborted) resolve();
    await promise;
    unwatch();
    await this.#queue.close();
  }

  /** Rejects only with the signal's reason or because of a bug. Call it at most once at a time per `requester`. */
  async ensure(request: ImageRequest, signal: AbortSignal): Promise<ImageAnswer> {
    const { pod, image, emit } = request;
    const answer = this.#answer(request);
    if (answer !== undefined) return answer;
    const parsed = parseImageName(image);
    if (parsed.kind === "invalid") {
      const message = invalidNameText(image, parsed.why);
      emit("Warning", "InspectFailed", message);
      return refused("InvalidImageName", message);
    }
    const spec = { image: pullableName(image, parsed.name), annotations: { ...pod.metadata?.annotations } };
    const found = await imageOnNode(request, spec, this.#options.images, signal);
    return found ?? this.#backingOff(request) ?? (await this.#begin(request, parsed.name, spec, signal));
  }

  /** Drops all state of a pod and cancels its pulls; nothing in the pod waits for them any more. */
  forget(podUid: string): void {
    const { pullsUnderWay } = this.#options;
    const pulls = this.#pods.get(podUid);
    this.#pods.delete(podUid);
    for (const pending of pulls?.requests.values() ?? []) if (pending.kind === "underWay") pending.leave();
    const ofFailedPulls = [...(pulls?.failedPulls.values() ?? [])].map(({ requester }) => requester);
    for (const requester of [...(pulls?.requests.keys() ?? []), ...ofFailedPulls])
      pullsUnderWay.delete(pullKey(podUid, requester));
  }

  /** The result or progress of an earlier request for the same image. */
  #answer({ pod, requester, image }: ImageRequest): ImageAnswer | undefined {
    const { pullsUnderWay } = this.#options;
    const { requests } = this.#pulls(pod);
    const key = pullKey(uidOf(pod), requester);
    const pending = requests.get(requester);
    if (pending?.kind === "underWay" && pending.image === image) {
      const progress = pullsUnderWay.get(key);
      if (progress !== undefined && progress.kind !== "settled") return { kind: "underWay", progress };
    }
    requests.delete(requester);
    pullsUnderWay.delete(key);
    if (pending?.kind === "underWay") pending.leave();
    if (pending === undefined || pending.kind === "underWay" || pending.image !== image) return undefined;
    if (pending.kind === "pulled") return pending.present;
    return refused(pending.failure.reason, pending.failure.message, FAILURE_SHOWN_MS);
  }

  #backingOff({ pod, image, emit }: ImageRequest): ImageAnswer | undefined {
    const { referencedObjects, clock } = this.#options;
    const { failedPulls } = this.#pulls(pod);
    const failedPull = failedPulls.get(image);
    if (failedPull === undefined) return undefined;
    if (haveChanged(failedPull.secrets, referencedObjects)) {
      failedPulls.delete(image);
      return undefined;
    }
    const { backoff, failure } = failedPull;
    const leftMs = pullBackoffLeftMs(backoff, clock.monotonicMs());
    const shownMs = backoff.delayMs - leftMs;
    if (leftMs === 0) return undefined;
    if (shownMs < FAILURE_SHOWN_MS) return refused(failure.reason, failure.message, FAILURE_SHOWN_MS - shownMs);
    emit("Normal", "BackOff", backOffText(image));
    const message = imagePullBackOffText(image, failure) + nextTryText(failedPull.nextTryWallMs);
    return refused("ImagePullBackOff", message, leftMs);
  }

  async #begin(request: ImageRequest, name: ImageName, spec: ImageSpec, signal: AbortSignal): Promise<ImageAnswer> {
    const { pod, requester, image, sandbox, emit } = request;
    const { clock, events, pullsUnderWay } = this.#options;
    const secrets = await readPullSecrets(pod, this.#options, signal);
    if (secrets.missing.length > 0) {
      const text = secretsMissingText(secrets.missing);
      events.emit(podSubject(pod), "Warning", "FailedToRetrieveImagePullSecret", text);
    }
    const found = await this.#credentials(name, secrets);
    if (found.kind === "invalid") return refused(found.why, found.why);
    signal.throwIfAborted();
    emit("Normal", "Pulling", pullingText(image));
    const pulls = this.#pulls(pod);
    const [sinceMonotonicMs, lastFailure] = [clock.monotonicMs(), pulls.failedPulls.get(image)?.failure];
    let progress: UnderWay = { kind: "pulling", sinceMonotonicMs, lastFailure };
    const { credentials } = found;
    const leave = this.#queue.join(
      JSON.stringify([spec.image, credentials]),
      (end) => pullImage(spec, sandbox, credentials, this.#parts, end),
      {
        moved: (position) => {
          const state = position === 0 ? ({ kind: "pulling" } as const) : ({ kind: "queued", position } as const);
          progress = { sinceMonotonicMs, lastFailure, ...state };
          pullsUnderWay.set(pullKey(uidOf(pod), requester), progress);
        },
        settled: (outcome) => {
          this.#recordRegistry(name, outcome);
          this.#settled(request, outcome, sinceMonotonicMs, secrets.versions);
        },
      },
    );
    pulls.requests.set(requester, { kind: "underWay", image, leave });
    return { kind: "underWay", progress };
  }

  async #credentials(
    { repository }: ImageName,
    { present }: PullSecrets,
  ): Promise<
    | { readonly kind: "found"; readonly credentials: readonly RegistryCredentials[] }
    | { readonly kind: "invalid"; readonly why: string }
  > {
    const ofPod: CredentialsByRegistry[] = [];
    for (const secret of present) {
      const parsed = credentialsOfSecret(secret);
      if (parsed.kind === "invalid") return parsed;
      ofPod.push(parsed.credentials);
    }
    const ofNode = await readNodeCredentials(this.#options.directories, this.#options);
    return { kind: "found", credentials: credentialsFor(repository, { ofPod, ofNode }) };
  }

  #recordRegistry({ repository }: ImageName, outcome: PullOutcome<Pulled>): void {
    const { unreachableRegistries } = this.#options;
    const error = outcome.kind === "failed" ? outcome.error : undefined;
    const known = unreachableRegistries.value;
    const now = afterPull(known, registryOf(repository), error);
    if (now !== known) unreachableRegistries.set(now);
  }

  #settled(
    { pod, requester, image, emit }: ImageRequest,
    outcome: PullOutcome<Pulled>,
    sinceMonotonicMs: number,
    secrets: SecretVersions,
  ): void {
    const { clock, pullsUnderWay } = this.#options;
    const { requests, failedPulls } = this.#pulls(pod);
    const now = clock.monotonicMs();
    if (outcome.kind === "pulled") {
      const { ref, image: found, pullMs } = outcome.pulled;
      const stats = { pullMs, wholeMs: now - sinceMonotonicMs, sizeBytes: found?.sizeBytes ?? 0n };
      emit("Normal", "Pulled", pulledText(image, stats));
      requests.set(requester, { kind: "pulled", image, present: { kind: "present", ref, image: found } });
    } else {
      emit("Warning", "Failed", failedPullText(image, outcome.error));
      const failure = pullFailure(image, outcome.error);
      requests.set(requester, { kind: "failed", image, failure });
      const before = failedPulls.get(image);
      // Two requesters of a pod that share a call count as one failure.
      if (before?.outcome !== outcome) {
        const backoff = afterFailedPull(before?.backoff, now);
        const nextTryWallMs = clock.wallMs() + backoff.delayMs;
        failedPulls.set(image, { failure, backoff, nextTryWallMs, requester, secrets, outcome });
      }
    }
    pullsUnderWay.set(pullKey(uidOf(pod), requester), { kind: "settled" });
  }

  /** Requesters that back off because of this Secret are woken to try again. */
  #secretChanged(key: string): void {
    const { pullsUnderWay, referencedObjects } = this.#options;
    for (const [uid, { failedPulls }] of this.#pods) {
      for (const { requester, secrets } of failedPulls.values()) {
        if (!secrets.has(key) || !haveChanged(secrets, referencedObjects)) continue;
        const progress = pullsUnderWay.get(pullKey(uid, requester));
        if (progress === undefined) pullsUnderWay.set(pullKey(uid, requester), { kind: "settled" });
      }
    }
  }

  #pulls(pod: Pod): PodPulls {
    const uid = uidOf(pod);
    const known = this.#pods.get(uid);
    if (known !== undefined) return known;
    const fresh: PodPulls = { requests: new Map(), failedPulls: new Map() };
    this.#pods.set(uid, fresh);
    return fresh;
  }
}

const uidOf = (pod: Pod): string => podNameOfObject(pod).uid;
