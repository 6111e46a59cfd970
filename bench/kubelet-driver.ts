/** Runs pods through the API server and the agent that is running. */
import type { Pod, PodSpec } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import { assertNever } from "../src/base/assert.ts";
import { BUSYBOX_IMAGE, PAUSE_IMAGE } from "../test/cluster/images.ts";
import type { PodDriver, PodKind } from "./pod-driver.ts";
import { isReady } from "./pod-watcher.ts";
import { tokenSpec, volumesSpec } from "./volume-fixtures.ts";
import { type Agent, forever, type World } from "./world.ts";

export function kubeletDriver(world: World, agent: Agent): PodDriver {
  const { api, watcher, namespace } = world;
  return {
    agent,
    up: async (name, kind) => {
      const sinceMs = performance.now();
      const ready = watcher.when(name, "ready", isReady);
      await Promise.all([api.create(pods, podOf(world, name, kind), forever), ready]);
      return (await ready).atMs - sinceMs;
    },
    down: async (name) => {
      const sinceMs = performance.now();
      const gone = watcher.when(name, "deleted", ({ kind }) => kind === "deleted");
      await Promise.all([api.delete(pods, { name, namespace }, {}, forever), gone]);
      return (await gone).atMs - sinceMs;
    },
    changeObserved: async (name) => {
      const running = containerOf(watcher.history(name).at(-1)?.pod);
      const changed = await watcher.when(name, "changed", ({ pod }) => containerOf(pod) !== running);
      return changed.atMs;
    },
    tidy: async () => {},
    end: () => agent.stop(),
  };
}

/** Creates pods with one spec and waits until all of them are ready. */
export async function upAll(world: World, names: readonly string[], spec: Partial<PodSpec>): Promise<void> {
  const ready = names.map((name) => world.watcher.when(name, "ready", isReady));
  for (const name of names) await world.api.create(pods, podBy(world, name, spec), forever);
  await Promise.all(ready);
}

/** The fields of the single container's status that change with its state. */
function containerOf(pod: Pod | undefined): string {
  const [status] = pod?.status?.containerStatuses ?? [];
  return `${status?.containerID} ${Object.keys(status?.state ?? {}).join()}`;
}

export function podOf(world: World, name: string, kind: PodKind): Pod {
  switch (kind) {
    case "pause":
      return podBy(world, name, { containers: [{ name: "app", image: PAUSE_IMAGE }] });
    case "triggered": {
      const app = { name: "app", image: BUSYBOX_IMAGE, command: world.exitTrigger.command };
      return podBy(world, name, { terminationGracePeriodSeconds: 1, containers: [app] });
    }
    case "token":
      return podBy(world, name, tokenSpec);
    case "volumes":
      return podBy(world, name, volumesSpec);
    default:
      return assertNever(kind);
  }
}

/** The pod has only the volumes that its spec names: the service account's token is not mounted automatically. */
export const podBy = ({ namespace, node }: World, name: string, spec: Partial<PodSpec>): Pod => ({
  metadata: { name, namespace },
  spec: {
    nodeName: node.name,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 30,
    containers: [],
    ...spec,
  },
});
