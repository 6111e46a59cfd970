/** The parts of one fake runtime, put together. */
import { Commands } from "./commands.ts";
import { Containers } from "./containers.ts";
import { ImageStore } from "./image-store.ts";
import { type FakeRuntimeOptions, NodeState } from "./node-state.ts";
import type { FakeRegistry } from "./registry.ts";
import { Sandboxes } from "./sandboxes.ts";
import { Server } from "./server.ts";
import { Stats } from "./stats.ts";

export interface RuntimeParts {
  readonly state: NodeState;
  readonly server: Server;
  readonly images: ImageStore;
  readonly containers: Containers;
  readonly sandboxes: Sandboxes;
  readonly commands: Commands;
  readonly stats: Stats;
}

export function runtimeParts(options: FakeRuntimeOptions, registry: FakeRegistry): RuntimeParts {
  const state = new NodeState(options);
  const images = new ImageStore(state, registry);
  const containers = new Containers(state, images);
  const sandboxes = new Sandboxes(state, containers);
  return {
    state,
    server: new Server(state),
    images,
    containers,
    sandboxes,
    commands: new Commands(state, containers),
    stats: new Stats(state, containers, sandboxes),
  };
}
