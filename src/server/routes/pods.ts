/** The pods this node knows, as the API has them; and what the runtime has running, which may be more or less. */
import type { Container as ApiContainer, Pod } from "../../api/gen/core-v1.ts";
import type { Container } from "../../domain/runtime/container.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { sendJson } from "../answers.ts";
import { PODS_SHARED_MS } from "../limits.ts";
import { plainRoute, READ } from "../plain-route.ts";
import type { Route } from "../route.ts";

/**
 * `pods`: those that were given to the node, each with what the node makes of it now. Requests within `PODS_SHARED_MS` get the same list, so that
 * many of them cost the node little: the read-only port asks nobody who they are.
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

/** As Go writes a list of nothing. */
const orNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);

/** In a list, an item's kind is the list's. Go tells a time that there is none of. */
function asItem(pod: Pod): object {
  const { kind: _kind, apiVersion: _apiVersion, ...item } = pod as Pod & { kind?: string; apiVersion?: string };
  const { conditions, ...status } = item.status ?? {};
  if (conditions === undefined) return item;
  return { ...item, status: { ...status, conditions: conditions.map((one) => ({ lastProbeTime: null, ...one })) } };
}

/** One for each sandbox that is ready. */
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
