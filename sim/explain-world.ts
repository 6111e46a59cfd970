/**
 * A node on which a pod fails in a known way, and `deckhand explain` run there; also the examples that docs/explain.md
 * shows.
 */
import assert from "node:assert/strict";
import type { Container, PodSpec, Probe } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import { explainPodCommand } from "../src/app/commands/explain.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { kubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import type { Fault, PortCall } from "./port-calls.ts";
import type { SimNode } from "./sim-node.ts";
import { World } from "./world.ts";

/** Name of the pod that `ask` explains. */
export const NAME = "web";

export const server: Behaviour = {
  onSignal: { SIGTERM: { afterMs: 300, code: 0 } },
  answers: [{ fromMs: 0, health: 200 }],
};
export const sick: Behaviour = { ...server, answers: [{ fromMs: 0, health: 503 }] };
export const running = (behaviour: Behaviour = server): Partial<Container> => ({ command: [...scripted(behaviour)] });
export const HTTP: Probe = { httpGet: { path: "/", port: 80 }, periodSeconds: 2, failureThreshold: 2 };

export const initContainer = (name: string, own: Partial<Container>): Container => ({
  name,
  image: "busybox",
  imagePullPolicy: "IfNotPresent",
  ...own,
});

export interface Stage {
  readonly world: World;
  readonly node: SimNode;
  readonly create: (own: Partial<Container>, spec?: Partial<PodSpec>, name?: string) => void;
  readonly remove: (graceSeconds: number) => void;
}

export function makeStage(fault: (call: PortCall) => Fault | undefined = () => undefined): Stage {
  const world = new World({ seed: 1, plan: fault, latencyMs: () => 2 });
  const node = world.addNode("n1");
  for (const image of ["busybox", "other"]) node.runtime.images.load(image, {});
  node.start(kubelet);
  const { create } = plainPods(world);
  return {
    world,
    node,
    create: (own, spec = {}, name = NAME) => create(name, own, spec),
    remove: (gracePeriodSeconds) =>
      world.api.writes.delete(kindOf(pods), { namespace: "default", name: NAME }, { gracePeriodSeconds }, ADMIN),
  };
}

export async function ask({ node, world }: Stage, ...args: readonly string[]) {
  const said = { stdout: "", stderr: "" };
  const io = {
    clock: world.clock,
    pid: 1,
    isColored: false,
    isInteractive: false,
    machine: () => assert.fail("unexpected use of the machine port"),
    stdout: (text: string) => void (said.stdout += text),
    stderr: (text: string) => void (said.stderr += text),
  };
  const { files, machine } = node;
  const code = await explainPodCommand([`default/${NAME}`, ...args], io, { files: files.port, machine });
  return { code, ...said };
}

const fenced = (text: string): string => `\`\`\`text\n${text}\`\`\``;

/** A failing liveness probe after one minute, with a slow init container and a slow image pull. */
export async function livenessExample(): Promise<string> {
  const stage = makeStage();
  stage.world.registry.add("docker.io/library/shop:1.4");
  stage.world.registry.pullMs = () => 3_200;
  const setup = initContainer("migrate", running({ exit: { afterMs: 1_900, code: 0 } }));
  stage.create(
    { image: "shop:1.4", ...running(sick), livenessProbe: HTTP },
    { initContainers: [setup], dnsPolicy: "Default" },
  );
  await stage.world.advance(60_000);
  return fenced((await ask(stage)).stdout);
}

export async function wrongTagExample(): Promise<string> {
  const stage = makeStage();
  stage.create({ image: "registry.k8s.io/pause:nope" }, { dnsPolicy: "Default" });
  await stage.world.advance(15_000);
  return fenced((await ask(stage)).stdout);
}
