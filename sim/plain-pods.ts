/** Pods of one container, as a user creates and inspects them in a world. */
import type { Container, Event, Pod, PodSpec } from "../src/api/gen/core-v1.ts";
import { coreEvents, pods } from "../src/api/resources.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { app, pod, SERVER } from "./workload/pod.ts";
import type { World } from "./world.ts";

const POD_KIND = kindOf(pods);
const NAMESPACE = "default";

export const plainPods = (world: World) => ({
  find: (name: string) => world.api.store.get(POD_KIND, `${NAMESPACE}/${name}`) as unknown as Pod | undefined,
  /** Creates the pod on node n1, with an image that the node has unless `own` says otherwise. */
  create: (name: string, own: Partial<Container>, spec: Partial<PodSpec> = {}) => {
    world.api.writes.create(POD_KIND, pod(name, { ...app(SERVER, own), ...spec }), ADMIN);
  },
  eventsOf: async (name: string): Promise<readonly Event[]> => {
    const { signal } = new AbortController();
    const { items } = await world.until(world.user.list(coreEvents, { namespace: NAMESPACE }, {}, signal));
    return items.filter(({ involvedObject }) => involvedObject.name === name);
  },
});
