/**
 * Watches the cluster's RuntimeClasses. The watch starts with the first pod that names a RuntimeClass, because most
 * nodes never have such a pod. The cell is undefined until the first list; readers must not take undefined for "there
 * are none".
 */
import type { RuntimeClass } from "../../api/gen/node-v1.ts";
import { runtimeClasses as runtimeClassKind } from "../../api/resources.ts";
import { startInformer } from "../../concurrency/informer.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { onChange } from "../../concurrency/on-change.ts";
import { waitForValue } from "../../concurrency/wait-for-value.ts";
import { type RuntimeClasses, runtimeClassOf } from "../../domain/container-config/runtime-handler.ts";
import type { DesiredPods } from "../../domain/pod/desired-pod.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { stripManagedFields } from "./strip-managed-fields.ts";

export interface RuntimeClassesParts {
  readonly api: Pick<ApiServer, "list" | "watch">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly desiredPods: Latest<DesiredPods>;
  readonly runtimeClasses: LatestCell<RuntimeClasses>;
}

export async function runRuntimeClasses(parts: RuntimeClassesParts, shutdown: AbortSignal): Promise<void> {
  const { api, clock, random, log, desiredPods, runtimeClasses } = parts;
  await firstNamed(desiredPods, shutdown);
  if (shutdown.aborted) return;
  const onTrouble = (detail: string) => log.info(2, "Failed to watch RuntimeClasses, retrying", { detail });
  const options = {
    api,
    resource: runtimeClassKind,
    selection: {},
    clock,
    random,
    onTrouble,
    keep: stripManagedFields<RuntimeClass>,
  };
  const informer = startInformer(options, shutdown);
  const { store } = informer;
  await onChange(store, () => runtimeClasses.set(store.value.objects), shutdown);
  await informer.ended;
}

async function firstNamed(desiredPods: Latest<DesiredPods>, shutdown: AbortSignal): Promise<void> {
  const isNamed = ({ pods }: DesiredPods) => [...pods.values()].some(({ pod }) => runtimeClassOf(pod) !== undefined);
  await waitForValue(desiredPods, isNamed, shutdown).catch(() => undefined); // Rejects only when the signal aborts.
}
