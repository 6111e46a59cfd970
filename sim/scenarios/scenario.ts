/**
 * A scenario: what a user and the world do and when, and the expected state at the end. It is played with and without
 * the agent's death at any call.
 */
import type { Container, EphemeralContainer, Pod, ResourceRequirements } from "../../src/api/gen/core-v1.ts";
import { pods } from "../../src/api/resources.ts";
import type { ApiObject, Resource } from "../../src/ports/api-server.ts";
import { ADMIN } from "../fake-api-server/identity.ts";
import { kindOf } from "../fake-api-server/kinds.ts";
import { kubelet, MANIFESTS } from "../kubelet.ts";
import { Oracle } from "../oracle.ts";
import type { Fault, PortCall } from "../port-calls.ts";
import type { AgentFactory, SimNode } from "../sim-node.ts";
import { World } from "../world.ts";

type Oversight = Pick<Stage, "world" | "oracle">;

export interface Stage {
  readonly world: World;
  readonly node: SimNode;
  readonly oracle: Oracle;
  readonly agent: AgentFactory;
  readonly create: (pod: Pod) => string;
  readonly pod: (name: string) => Pod | undefined;
  readonly remove: (name: string, graceSeconds?: number) => void;
  /** Adds an ephemeral container to an existing pod. */
  readonly addEphemeralContainer: (name: string, container: EphemeralContainer) => void;
  /** Changes the resources that an existing pod requests, by container or for the pod as a whole. */
  readonly resize: (
    name: string,
    resources: Readonly<Record<string, ResourceRequirements>>,
    whole?: ResourceRequirements,
  ) => void;
  /** Creates an object or updates the one of its name; returns its UID. */
  readonly put: <T extends ApiObject>(resource: Resource<T>, object: T) => string;
  /** Deletes an object if it exists. */
  readonly drop: (resource: Resource<ApiObject>, name: string) => void;
  readonly writeManifest: (file: string, pod: Pod | undefined) => Promise<void>;
}

export interface Scenario {
  readonly name: string;
  /** The agent, if it is not a kubelet with the default options. */
  readonly agent?: AgentFactory;
  /** Sets up the world before the agent first starts. */
  readonly before?: (stage: Stage) => void;
  readonly steps: readonly (readonly [atMs: number, act: (stage: Stage) => void | Promise<void>])[];
  readonly lastsMs: number;
  /** Faults that happen by themselves, in addition to the agent's death. */
  readonly fault?: (call: PortCall, nowMs: number) => Fault | undefined;
  /** What is wrong at the end, one sentence each. */
  readonly wrong: (stage: Stage) => readonly string[];
}

export interface Outcome {
  readonly violations: readonly string[];
  readonly wrong: readonly string[];
  /** Number of calls that the first life made before it ended. */
  readonly calls: number;
  readonly crashed: boolean;
  readonly hash: string;
  readonly lastLines: readonly string[];
}

export interface PlayOptions {
  readonly seed?: number;
  readonly agent?: AgentFactory;
  /**
   * The agent dies at this call of its first life, or at the first call that matches, before or after the call's
   * effect.
   */
  readonly crashAt?: {
    readonly call: number | ((call: PortCall) => boolean);
    readonly effect: "none" | "done";
  };
}

const NODE = "n1";
const RESTART_AFTER_MS = 700;
const POD_KIND = kindOf(pods);

export async function play(
  scenario: Scenario,
  { seed = 1, agent = scenario.agent ?? kubelet, crashAt }: PlayOptions = {},
): Promise<Outcome> {
  let calls = 0;
  let crashed = false;
  const plan = (call: PortCall): Fault | undefined => {
    if (call.who !== NODE || call.life !== 1) return scenario.fault?.(call, world.clock.monotonicMs());
    calls += 1;
    const isPoint =
      typeof crashAt?.call === "number" ? calls === crashAt.call : !crashed && crashAt?.call(call) === true;
    if (crashAt === undefined || !isPoint) return scenario.fault?.(call, world.clock.monotonicMs());
    crashed = true;
    return { kind: "crash", effect: crashAt.effect };
  };
  const world: World = new World({
    seed,
    plan,
    // Every call takes a little time, so that other events can happen meanwhile.
    latencyMs: (_call, random) => 1 + Math.floor(random.fraction() * 4),
    onCrash: (node) => void world.clock.after(RESTART_AFTER_MS, () => node.start(agent)),
  });
  const node = world.addNode(NODE);
  node.runtime.images.load("busybox", {});
  const stage = makeStage(world, node, agent);
  scenario.before?.(stage);
  node.start(agent);
  for (const [atMs, act] of scenario.steps) {
    await passUntil(stage, atMs);
    const done = Promise.resolve(act(stage));
    await passUntil(stage, atMs + 1);
    await done;
  }
  await passUntil(stage, scenario.lastsMs);
  const { failure } = node;
  const ended = failure === undefined ? [] : [`the agent ended by itself: ${String(failure.error)}`];
  return {
    violations: stage.oracle.violations,
    wrong: [...scenario.wrong(stage), ...ended],
    calls,
    crashed,
    hash: world.trace.hash,
    lastLines: world.trace.lastLines,
  };
}

/** Advances time event by event and runs the oracle after each. */
export async function passUntil({ world, oracle }: Oversight, atMs: number): Promise<void> {
  for (;;) {
    await world.advance(0);
    oracle.check();
    if (!world.clock.fireNext(atMs)) break;
  }
  if (atMs > world.clock.monotonicMs()) await world.advance(atMs - world.clock.monotonicMs());
}

export function makeStage(world: World, node: SimNode, agent: AgentFactory): Stage {
  const oracle = new Oracle(world, node);
  const { store, writes } = world.api;
  const find = (name: string) => store.get(POD_KIND, `default/${name}`) as unknown as Pod | undefined;
  return {
    world,
    node,
    oracle,
    agent,
    create: (pod) => (writes.create(POD_KIND, pod, ADMIN) as unknown as Pod).metadata?.uid ?? "",
    pod: find,
    remove(name, graceSeconds) {
      const uid = find(name)?.metadata?.uid ?? "";
      if (graceSeconds === 0) oracle.forced.add(uid);
      const options = graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds };
      writes.delete(POD_KIND, { namespace: "default", name }, options, ADMIN);
    },
    addEphemeralContainer(name, container) {
      const before = find(name);
      if (before === undefined) return;
      const spec = { containers: [], ...before.spec, ephemeralContainers: [container] };
      writes.update(POD_KIND, { ...before, spec }, "ephemeralcontainers", ADMIN);
    },
    resize(name, resources, whole) {
      const before = find(name);
      if (before?.spec === undefined) return;
      const given = (container: Container): Container =>
        Object.hasOwn(resources, container.name)
          ? { ...container, resources: resources[container.name] ?? {} }
          : container;
      const { containers, initContainers } = before.spec;
      const spec = {
        ...before.spec,
        containers: containers.map(given),
        ...(initContainers && { initContainers: initContainers.map(given) }),
        ...(whole && { resources: whole }),
      };
      writes.update(POD_KIND, { ...before, spec }, "resize", ADMIN);
    },
    put(resource, object) {
      const kind = kindOf(resource);
      const { namespace, name = "" } = object.metadata ?? {};
      const before = store.get(kind, `${namespace ?? ""}/${name}`);
      const stored =
        before === undefined ? writes.create(kind, object, ADMIN) : writes.update(kind, object, undefined, ADMIN);
      return stored.metadata.uid;
    },
    drop(resource, name) {
      const kind = kindOf(resource);
      const namespace = resource.namespaced ? "default" : "";
      if (store.get(kind, `${namespace}/${name}`) === undefined) return;
      writes.delete(kind, { name, ...(resource.namespaced ? { namespace } : {}) }, {}, ADMIN);
    },
    async writeManifest(file, pod) {
      const path = `${MANIFESTS}/${file}`;
      await node.files.port.makeDirectory(MANIFESTS, 0o755);
      if (pod === undefined) await node.files.port.removeFile(path);
      else await node.files.port.writeAtomically(path, new TextEncoder().encode(JSON.stringify(pod)), 0o644);
    },
  };
}
