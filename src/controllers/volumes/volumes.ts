/**
 * Makes the mounts of the node match what its pods need: one sync at a time per pod, woken by changes of its inputs.
 * `mountState` contains the state of each volume. Workers read it before they start containers, and a pod is finished
 * only when its entry is gone.
 *
 * A pod's worker decides in `podOutcomes` whether the volumes are wanted. They are set up while the pod runs, left
 * alone while its containers terminate, and torn down when no container is left. Volumes of unknown pods are torn down
 * when all sources are ready and the runtime runs nothing of the pod. Volumes of previous kubelet processes are read
 * once at startup; until then no pod counts as finished.
 */

import type { Pod, Volume } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { KeyedLoop } from "../../concurrency/keyed-loop.ts";
import { onChange } from "../../concurrency/on-change.ts";
import { pause } from "../../concurrency/sleep.ts";
import { type ObjectReference, objectKey, referencesOf } from "../../domain/cluster-objects/references.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import { endRetryMs } from "../../domain/pod/ending.ts";
import { hasEnded } from "../../domain/pod/pod-lifecycle.ts";
import { podDirectory } from "../../domain/pod/pod-names.ts";
import { mayRunOnNode } from "../../domain/pod/runtime-view.ts";
import { subPathsDirectory } from "../../domain/volumes/layout.ts";
import { usedVolumes } from "../../domain/volumes/used-volumes.ts";
import { endTrouble, type PodVolumes, type VolumeState } from "../../domain/volumes/volume-state.ts";
import { listIfThere } from "../../ports/host-files.ts";
import { StagedVolumes } from "./staged-volumes.ts";
import { readMounted, tearDown } from "./tear-down.ts";
import { Tokens } from "./tokens.ts";
import { VolumeQuotas } from "./volume-quotas.ts";
import { newVolumeMemory, type SetUpResult, type VolumeMemory, VolumeSetup } from "./volume-setup.ts";
import { RETRY_MS_MAX, RETRY_MS_MIN, type VolumesParts } from "./volumes-parts.ts";

/** The mount of a dead server never unmounts by itself: after this time it is unmounted lazily. */
const LAZY_UNMOUNT_AFTER_MS = 60_000;

const keyOfReference = ({ kind, namespace, name }: ObjectReference) => objectKey(kind, namespace, name);

type Intent = "setUp" | "tearDown" | "leave";

export class VolumeLoop {
  readonly #parts: VolumesParts;
  readonly #setup: VolumeSetup;
  readonly #tokens: Tokens;
  readonly #staged = new StagedVolumes();
  readonly #quotas: VolumeQuotas | undefined;
  readonly #memories = new Map<string, Map<string, VolumeMemory>>();
  /** Pods whose running sync sets up volumes. */
  readonly #settingUp = new Set<string>();
  readonly #references = new WeakMap<Pod, ReadonlySet<string>>();
  readonly #unresponsiveSinceMs = new Map<string, number>();
  readonly #tearDownFailures = new Map<string, number>();

  constructor(parts: VolumesParts) {
    this.#parts = parts;
    this.#tokens = new Tokens(parts.ports);
    this.#quotas = parts.quotas && new VolumeQuotas(parts.quotas, parts.ports.log);
    this.#setup = new VolumeSetup(parts, this.#tokens, { staged: this.#staged, quotas: this.#quotas });
  }

  async run(shutdown: AbortSignal): Promise<void> {
    await this.#readNode(shutdown);
    if (shutdown.aborted) return;
    const { admittedPods, podOutcomes, referencedObjects, sourcesReady, mountState, ports } = this.#parts;
    const loop: KeyedLoop<string> = new KeyedLoop<string>({
      clock: ports.clock,
      turn: async (uid, { signal, wakeIn }) => {
        await this.#turn(uid, signal, wakeIn);
        // The timer for the renewal of a token ends with its pod.
        if (mountState.get(uid) === undefined) loop.cancelWakeup(uid);
      },
      onBug: (uid, error) =>
        ports.log.error("Unexpected error while mounting or unmounting a pod's volumes", error, { uid }),
      afterBugMs: RETRY_MS_MAX,
      shutdown,
      queue: this.#parts.queue,
    });
    // The set-up of volumes that are no longer wanted is canceled; a teardown never is.
    const wake = (uid: string) =>
      this.#settingUp.has(uid) && this.#intent(uid) !== "setUp" ? loop.interrupt(uid) : loop.wake(uid);
    loop.watch(admittedPods, wake);
    loop.watch(podOutcomes, wake);
    loop.watch(referencedObjects, (key) => {
      for (const uid of mountState.keys()) if (this.#refers(uid, key)) loop.wake(uid);
    });
    const wakeAll = () => {
      for (const uid of new Set([...admittedPods.keys(), ...podOutcomes.keys(), ...mountState.keys()])) loop.wake(uid);
    };
    const wakeOrphans = () => {
      for (const uid of mountState.keys()) if (admittedPods.get(uid) === undefined) loop.wake(uid);
    };
    await loop.run(async () => {
      wakeAll();
      await Promise.all([
        this.#quotas?.releaseRemoved(`${this.#parts.rootDir}/pods`, shutdown),
        onChange(sourcesReady, wakeAll, shutdown),
        onChange(this.#parts.listedSandboxes, wakeOrphans, shutdown),
      ]);
    });
  }

  /**
   * Reads what previous kubelet processes left on the node. This must be known before the first pod counts as finished.
   */
  async #readNode(shutdown: AbortSignal): Promise<void> {
    const { ports, mountState, rootDir, plugins } = this.#parts;
    while (!shutdown.aborted) {
      try {
        for (const uid of await listIfThere(ports.files, `${rootDir}/pods`)) {
          const directory = podDirectory(rootDir, uid);
          const { volumes, unknownPlugins, mounts } = await readMounted(
            directory,
            this.#journaledMountsOf(uid),
            plugins,
            ports,
          );
          const hasParts = (await ports.files.facts(subPathsDirectory(directory))) !== undefined;
          if (volumes.length + unknownPlugins.length + mounts.length === 0 && !hasParts) continue;
          this.#parts.volumeMetrics?.reconstructed.add(volumes.length);
          mountState.set(uid, new Map(volumes.map(({ name }) => [name, { kind: "pending" }])));
        }
        return this.#known();
      } catch (error) {
        this.#parts.volumeMetrics?.reconstructErrors.increment();
        ports.log.error("Failed to read the mounted volumes, retrying", error);
        await pause(ports.clock, RETRY_MS_MIN, shutdown);
      }
    }
  }

  /** No supported volume type is attached by a controller, so no volume is in use in that sense. */
  #known(): void {
    this.#parts.volumesKnown.set(true);
    this.#parts.volumesInUse.set([]);
  }

  /** Whether a pod references this object, or may have a claim that is bound to it. */
  #refers(uid: string, key: string): boolean {
    const pod = this.#parts.admittedPods.get(uid)?.pod;
    if (pod === undefined) return false;
    const keys = this.#references.get(pod) ?? new Set(referencesOf(pod).map(keyOfReference));
    this.#references.set(pod, keys);
    if (keys.has(key)) return true;
    return key.startsWith("PersistentVolume/") && [...keys].some((each) => each.startsWith("PersistentVolumeClaim/"));
  }

  #intent(uid: string): Intent {
    const { podOutcomes, admittedPods, mountState } = this.#parts;
    const lifecycle = podOutcomes.get(uid)?.lifecycle;
    const isWanted = admittedPods.get(uid) !== undefined;
    if (lifecycle?.kind === "running") return isWanted ? "setUp" : "leave";
    if (lifecycle?.kind === "terminating" || mountState.get(uid) === undefined) return "leave";
    if (lifecycle !== undefined && hasEnded(lifecycle)) return "tearDown";
    return isWanted || !this.#isOrphan(uid) ? "leave" : "tearDown";
  }

  /** No source or worker will mention the pod again: all sources are ready, and the runtime has nothing of it. */
  #isOrphan(uid: string): boolean {
    const { podRuntimeStatus, sourcesReady, listedSandboxes } = this.#parts;
    if (!sourcesReady.value || listedSandboxes.value === undefined) return false;
    return !mayRunOnNode(uid, podRuntimeStatus.get(uid), listedSandboxes.value);
  }

  async #turn(uid: string, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const intent = this.#intent(uid);
    const pod = this.#parts.admittedPods.get(uid)?.pod;
    if (intent === "tearDown") await this.#tearDown(uid, signal, wakeIn);
    if (intent !== "setUp" || pod === undefined) return;
    this.#settingUp.add(uid);
    try {
      await this.#setUpAll(uid, pod, signal, wakeIn);
    } finally {
      this.#settingUp.delete(uid);
    }
  }

  async #setUpAll(uid: string, pod: Pod, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const volumes = usedVolumes(pod);
    if (volumes.length === 0) return;
    const memories = this.#memoriesOf(uid);
    // From the first step on, the pod has something on the node that must be torn down.
    if (this.#parts.mountState.get(uid) === undefined)
      this.#publish(uid, new Map(volumes.map(({ name }) => [name, { kind: "pending" }])));
    await Promise.all(
      volumes.map(async (volume) => {
        const memory = memories.get(volume.name) ?? newVolumeMemory();
        memories.set(volume.name, memory);
        const onMounting = () => this.#set(uid, volume.name, { kind: "mounting" });
        const result = await this.#setUpVolume(pod, volume, memory, onMounting, signal);
        if (result.againMs !== undefined) wakeIn(result.againMs);
        if (result.state !== undefined && !signal.aborted) this.#set(uid, volume.name, result.state);
      }),
    );
  }

  async #setUpVolume(
    pod: Pod,
    volume: Volume,
    memory: VolumeMemory,
    onMounting: () => void,
    signal: AbortSignal,
  ): Promise<SetUpResult> {
    try {
      return await this.#setup.setUp(pod, volume, { memory, onMounting }, signal);
    } catch (error) {
      if (signal.aborted) return { state: undefined, againMs: undefined };
      throw error;
    }
  }

  async #tearDown(uid: string, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const { ports, mountState, rootDir } = this.#parts;
    const work = {
      podDirectory: podDirectory(rootDir, uid),
      journaledMounts: this.#journaledMountsOf(uid),
      ports,
      staged: this.#staged,
      quotas: this.#quotas,
      plugins: this.#parts.plugins,
      rootDir,
      mustUnmountLazily: (path: string) => this.#unresponsiveMs(path) >= LAZY_UNMOUNT_AFTER_MS,
      onUnresponsive: (path: string) => this.#noteUnresponsive(path),
      onLazyUnmount: (path: string) => this.#reportLazyUnmount(uid, path),
      volumeMetrics: this.#parts.volumeMetrics,
      signal,
    };
    const outcome = await tearDown(work).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      return { kind: "left", troubles: new Map([["", errorText(error)]]) } as const;
    });
    if (outcome === undefined) return;
    if (outcome.kind === "left") {
      const failures = (this.#tearDownFailures.get(uid) ?? 0) + 1;
      this.#tearDownFailures.set(uid, failures);
      const againMs = endRetryMs(failures);
      const nextTryMonotonicMs = ports.clock.monotonicMs() + againMs;
      const left = [...outcome.troubles].map(([name, trouble]) => {
        const state: VolumeState = { kind: "unmounting", trouble, attempts: failures, nextTryMonotonicMs };
        return [name, state] as const;
      });
      this.#logTrouble(uid, new Map(left));
      this.#publish(uid, new Map(left));
      wakeIn(againMs);
      return;
    }
    this.#memories.delete(uid);
    this.#tearDownFailures.delete(uid);
    this.#tokens.forget(uid);
    mountState.delete(uid);
  }

  /** Logs each error once, however often the teardown is retried. */
  #logTrouble(uid: string, left: PodVolumes): void {
    const { ports, mountState } = this.#parts;
    const before = endTrouble(mountState.get(uid));
    const trouble = endTrouble(left);
    if (trouble?.error !== before?.error)
      ports.log.error("Failed to tear down a pod's volumes", new Error(trouble?.error), { uid });
  }

  #noteUnresponsive(path: string): void {
    if (!this.#unresponsiveSinceMs.has(path))
      this.#unresponsiveSinceMs.set(path, this.#parts.ports.clock.monotonicMs());
  }

  #unresponsiveMs(path: string): number {
    const since = this.#unresponsiveSinceMs.get(path);
    return since === undefined ? 0 : this.#parts.ports.clock.monotonicMs() - since;
  }

  #reportLazyUnmount(uid: string, path: string): void {
    const { ports, admittedPods } = this.#parts;
    this.#unresponsiveSinceMs.delete(path);
    const seconds = LAZY_UNMOUNT_AFTER_MS / 1000;
    const message = `The mount at ${path} gave no answer for ${seconds} s and was let go of; whoever still uses it keeps it until it ends`;
    const pod = admittedPods.get(uid)?.pod;
    if (pod === undefined) ports.log.info(0, message, { uid });
    else ports.events.emit(podSubject(pod), "Warning", "VolumeUnresponsive", message);
  }

  #journaledMountsOf(uid: string): ReadonlySet<string> {
    return new Set(this.#parts.journaledPods.get(uid)?.mounts.keys());
  }

  #memoriesOf(uid: string): Map<string, VolumeMemory> {
    const memories = this.#memories.get(uid) ?? new Map<string, VolumeMemory>();
    this.#memories.set(uid, memories);
    return memories;
  }

  #set(uid: string, name: string, state: VolumeState): void {
    const before = this.#parts.mountState.get(uid);
    const known = before?.get(name);
    if (known?.kind === state.kind && JSON.stringify(known) === JSON.stringify(state)) return;
    this.#publish(uid, new Map(before).set(name, state));
  }

  #publish(uid: string, volumes: PodVolumes): void {
    this.#parts.mountState.set(uid, volumes);
  }
}
