/**
 * Fetches one object that a node may GET but not watch, such as a PersistentVolumeClaim. Requests it at once and then
 * with backoff until it is settled. A settled object is not requested again.
 */
import { type BackoffCurve, backoffMs } from "../../base/backoff.ts";
import { errorText } from "../../base/error-text.ts";
import { pause } from "../../concurrency/sleep.ts";
import type { KnownObject } from "../../domain/cluster-objects/references.ts";
import { ApiError, isNotFound } from "../../ports/api-error.ts";
import type { ApiObject, ApiServer, ObjectName, Resource } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { FORBIDDEN_RETRY_MS, ForbiddenRetry } from "./forbidden-retry.ts";
import { stripManagedFields } from "./strip-managed-fields.ts";

export interface FetchedObjectParts {
  readonly api: Pick<ApiServer, "get">;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Wanted<T extends ApiObject> {
  readonly resource: Resource<T>;
  readonly name: ObjectName;
  readonly isSettled: (object: T) => boolean;
}

const BACKOFF: BackoffCurve = { firstMs: 500, maxMs: 30_000 };

/** Resolves when the object is settled or the signal aborts. */
export async function fetchUntilSettled<T extends ApiObject>(
  { resource, name, isSettled }: Wanted<T>,
  { api, clock, random }: FetchedObjectParts,
  publish: (known: KnownObject<T>) => void,
  signal: AbortSignal,
): Promise<void> {
  let isKnown = false;
  let tries = 0;
  const forbiddenRetry = new ForbiddenRetry();
  while (!signal.aborted) {
    let askedMs = 0;
    let isEarly = false;
    try {
      const object = stripManagedFields(await api.get(resource, name, signal));
      isKnown = true;
      publish({ kind: "present", object });
      if (isSettled(object)) return;
    } catch (error) {
      if (signal.aborted) return;
      isEarly = forbiddenRetry.shouldRetry(error);
      if (isNotFound(error)) {
        isKnown = true;
        publish({ kind: "missing" });
      } else if (!isKnown && !isEarly) {
        // A published state stays valid until a newer one is received.
        publish({ kind: "unknown", trouble: error instanceof ApiError ? error.detail : errorText(error) });
      }
      askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    }
    if (!isEarly) tries += 1;
    const waitMs = isEarly ? FORBIDDEN_RETRY_MS : Math.max(backoffMs(BACKOFF, tries, random.fraction()), askedMs);
    await pause(clock, waitMs, signal);
  }
}
