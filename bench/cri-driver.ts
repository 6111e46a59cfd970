/**
 * Makes the same CRI calls without a kubelet: the minimum time of a start, a restart and a termination on this machine.
 */
import type { SandboxConfig } from "../src/domain/runtime/sandbox.ts";
import { BUSYBOX_IMAGE, PAUSE_IMAGE } from "../test/cluster/images.ts";
import type { PodDriver, PodKind } from "./pod-driver.ts";
import { INIT_COMMAND } from "./volume-fixtures.ts";
import { forever, type World } from "./world.ts";

const GRACE_SECONDS = 30;

interface BarePod {
  readonly config: SandboxConfig;
  readonly kind: PodKind;
  readonly sandboxId: string;
  containerId: string;
  readonly others: string[];
  attempt: number;
}

export function criDriver(world: World): PodDriver {
  return new CriDriver(world);
}

class CriDriver implements PodDriver {
  readonly agent = undefined;
  readonly #world: World;
  readonly #pods = new Map<string, BarePod>();
  readonly #ended = new AbortController();
  readonly #changeObserved = new Map<string, (atMs: number) => void>();
  /** IDs of containers that stopped, and the callbacks that wait for one. */
  readonly #ends = new Set<string>();
  readonly #awaited = new Map<string, () => void>();
  readonly #left: string[] = [];
  #restarting: Promise<void> = Promise.resolve();

  constructor(world: World) {
    this.#world = world;
    void this.#follow();
  }

  async up(name: string, kind: PodKind): Promise<number> {
    const { node, cri } = this.#world;
    const sinceMs = performance.now();
    const config: SandboxConfig = {
      metadata: { name, namespace: "bare", uid: name, attempt: 0 },
      hostname: name,
      logDirectory: `/var/log/pods/bare_${name}`,
      cgroupParent: `${node.cgroupParent}/kubepods/besteffort/pod${name}`,
    };
    const sandboxId = await cri.runtime.runSandbox(config, "", forever);
    const pod: BarePod = { config, kind, sandboxId, containerId: "", others: [], attempt: 0 };
    await cri.runtime.sandboxStatus(sandboxId, { verbose: false }, forever);
    if (kind === "volumes") await this.#stopped(await this.#started(pod, "init", { command: INIT_COMMAND }));
    await this.#startContainer(pod);
    if (kind === "volumes") pod.others.push(await this.#started(pod, "second"));
    this.#pods.set(name, pod);
    return performance.now() - sinceMs;
  }

  async down(name: string): Promise<number> {
    const { runtime } = this.#world.cri;
    const pod = this.#pods.get(name);
    if (pod === undefined) throw new Error(`there is no pod ${name}`);
    this.#pods.delete(name);
    // The container's process may connect before the runtime has returned from starting it.
    await this.#restarting;
    const sinceMs = performance.now();
    const grace = pod.kind === "triggered" ? 1 : GRACE_SECONDS;
    await Promise.all([pod.containerId, ...pod.others].map((id) => runtime.stopContainer(id, grace, forever)));
    await runtime.stopSandbox(pod.sandboxId, forever);
    const tookMs = performance.now() - sinceMs;
    this.#left.push(pod.sandboxId);
    return tookMs;
  }

  changeObserved(name: string): Promise<number> {
    return new Promise((resolve) => this.#changeObserved.set(name, resolve));
  }

  async tidy(): Promise<void> {
    for (const id of this.#left.splice(0)) await this.#world.cri.runtime.removeSandbox(id, forever);
  }

  async end(): Promise<void> {
    this.#ended.abort(new Error("the bare client ends"));
    await this.tidy();
  }

  async #startContainer(pod: BarePod): Promise<void> {
    const exiting = { command: this.#world.exitTrigger.command };
    pod.containerId = await this.#started(pod, "app", pod.kind === "triggered" ? exiting : {});
  }

  /** A container with a command runs the busybox image. */
  async #started(pod: BarePod, name: string, command: { readonly command?: readonly string[] } = {}): Promise<string> {
    const { cri } = this.#world;
    const image = { image: command.command === undefined ? PAUSE_IMAGE : BUSYBOX_IMAGE };
    const present = await cri.images.imageStatus(image, forever);
    if (present === undefined) throw new Error(`${image.image} is not on the node`);
    const config = {
      metadata: { name, attempt: pod.attempt },
      image: { image: present.id },
      ...command,
      logPath: `${name}/${pod.attempt}.log`,
    };
    const id = await cri.runtime.createContainer(pod.sandboxId, config, pod.config, forever);
    await cri.runtime.startContainer(id, forever);
    await cri.runtime.containerStatus(id, { verbose: false }, forever);
    return id;
  }

  /** Resolves once the runtime has sent the container's stopped event. */
  async #stopped(id: string): Promise<void> {
    if (!this.#ends.has(id)) await new Promise<void>((resolve) => this.#awaited.set(id, resolve));
    this.#ends.delete(id);
    this.#awaited.delete(id);
  }

  /** Restarts the container of a `triggered` pod when the runtime sends its stopped event. */
  async #follow(): Promise<void> {
    try {
      for await (const { kind, containerId } of this.#world.cri.runtime.events(this.#ended.signal)) {
        if (kind !== "stopped") continue;
        this.#ends.add(containerId);
        this.#awaited.get(containerId)?.();
        for (const [name, pod] of this.#pods) {
          if (pod.containerId !== containerId || pod.kind !== "triggered") continue;
          this.#changeObserved.get(name)?.(performance.now());
          pod.attempt += 1;
          this.#restarting = this.#startContainer(pod);
          await this.#restarting;
        }
      }
    } catch (error) {
      if (!this.#ended.signal.aborted) throw error;
    }
  }
}
