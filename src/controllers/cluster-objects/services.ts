/**
 * Watches the Services of the whole cluster, for the service environment variables of containers. The cell is undefined
 * until the first list; readers must not take undefined for "there are none".
 */
import type { Service } from "../../api/gen/core-v1.ts";
import { services as serviceKind } from "../../api/resources.ts";
import { startInformer } from "../../concurrency/informer.ts";
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import { onChange } from "../../concurrency/on-change.ts";
import type { ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { stripManagedFields } from "./strip-managed-fields.ts";

export interface ServicesParts {
  readonly api: Pick<ApiServer, "list" | "watch">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Keyed by "namespace/name". */
  readonly services: LatestCell<ReadonlyMap<string, Service> | undefined>;
}

export async function runServices(parts: ServicesParts, shutdown: AbortSignal): Promise<void> {
  const { api, clock, random, log, services } = parts;
  const onTrouble = (detail: string) => log.info(2, "Failed to watch Services, retrying", { detail });
  const options = {
    api,
    resource: serviceKind,
    selection: {},
    clock,
    random,
    onTrouble,
    keep: stripManagedFields<Service>,
  };
  const informer = startInformer(options, shutdown);
  const { store } = informer;
  await onChange(store, () => services.set(store.value.objects), shutdown);
  await informer.ended;
}
