/** /pods: the pods of this node, as API objects. /runningpods: what the runtime is running, which may differ. */
import type { Container as ApiContainer, Pod } from "../../api/gen/core-v1.ts";
import type { Container } from "../../domain/runtime/container.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { PODS_SHARED_MS } from "../limits.ts";
import { plainRoute, READ } from "../plain-route.ts";
import { sendJson } from "../responses.ts";
import type { Route } from "../route.ts";

/**
 * `pods` returns the pods assigned to this node with their current status. Requests within `PODS_SHARED_MS` share one
 * list, so that many of them cost little: the read-only port does not authenticate.
 */
export function podsRoute(pods: () => readonly Pod[], monotonicMs: () => number): Route {
  let last: { readonly atMs: number; readonly text: string } | undefined;
  const listNow = (): string => {
    const nowMs = monotonicMs();
    if (last === undefined || nowMs - last.atMs >= PODS_SHARED_MS)
      last = { atMs: nowMs, text: podList(pods().map(asItem)) };
    return last.text;
  };
  return plainRoute("/pods", { methods: READ, subresources: ["pods", "proxy"], readOnlyPort: true }, (_, response) =>
    sendJson(response, listNow()),
  );
}

export const runningPodsRoute = (runtime: Pick<Runtime, "listSandboxes" | "listContainers">): Route =>
  plainRoute(
    "/runningpods",
    { methods: READ, subresources: ["pods", "proxy"], switch: "debugging" },
    async ({ signal }, response) => {
      const [sandboxes, containers] = await Promise.all([
        runtime.listSandboxes({ state: "ready" }, signal),
        runtime.listContainers({ state: "running" }, signal),
      ]);
      sendJson(response, podList(runningPods(sandboxes, containers)));
    },
  );

const podList = (pods: readonly object[]): string =>
  `${JSON.stringify({ kind: "PodList", apiVersion: "v1", metadata: {}, items: orNull(pods) })}\n`;

/** Go writes an empty list as null. */
const orNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);

/** List items have no kind of their own. Go writes a missing `lastProbeTime` as null. */
function asItem(pod: Pod): object {
  const { kind: _kind, apiVersion: _apiVersion, ...item } = pod as Pod & { kind?: string; apiVersion?: string };
  const { conditions, ...status } = item.status ?? {};
  if (conditions === undefined) return item;
  return { ...item, status: { ...status, conditions: conditions.map((one) => ({ lastProbeTime: null, ...one })) } };
}

/** One pod per ready sandbox. */
function runningPods(sandboxes: readonly Sandbox[], containers: readonly Container[]): readonly object[] {
  const bySandbox = Map.groupBy(containers, ({ sandboxId }) => sandboxId);
  return sandboxes.map(({ id, metadata: { uid, name, namespace } }) => ({
    metadata: { name, namespace, uid },
    spec: { containers: orNull((bySandbox.get(id) ?? []).map(asContainer)) },
    status: {},
  }));
}

const asContainer = ({ metadata: { name }, image }: Container): ApiContainer => ({
  name,
  image: image.image,
  resources: {},
});
