/** Pods by way of the API server and the agent that is up. */
import type { Pod } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import { BUSYBOX_IMAGE, PAUSE_IMAGE } from "../test/cluster/images.ts";
import type { Hand, PodKind } from "./hand.ts";
import { isReady } from "./pod-watcher.ts";
import { type Agent, forever, type World } from "./world.ts";

export function kubeletHand(world: World, agent: Agent): Hand {
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
    noticed: async (name) => {
      const running = containerOf(watcher.history(name).at(-1)?.pod);
      const changed = await watcher.when(name, "changed", ({ pod }) => containerOf(pod) !== running);
      return changed.atMs;
    },
    tidy: async () => {},
    end: () => agent.stop(),
  };
}

/** What of the one container's status changes with its state. */
function containerOf(pod: Pod | undefined): string {
  const [status] = pod?.status?.containerStatuses ?? [];
  return `${status?.containerID} ${Object.keys(status?.state ?? {}).join()}`;
}

/** No volumes: the token of the service account is not mounted. */
export function podOf({ namespace, node, exits }: World, name: string, kind: PodKind): Pod {
  return {
    metadata: { name, namespace },
    spec: {
      nodeName: node.name,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: kind === "pause" ? 30 : 1,
      containers: [
        kind === "pause"
          ? { name: "app", image: PAUSE_IMAGE }
          : { name: "app", image: BUSYBOX_IMAGE, command: exits.command },
      ],
    },
  };
}
