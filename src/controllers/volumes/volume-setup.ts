/** Sets up or refreshes one volume of one pod. A failed refresh leaves the files that a running pod uses unchanged. */

import type { Node, Pod, Volume } from "../../api/gen/core-v1.ts";
import { assert } from "../../base/assert.ts";
import { errorText } from "../../base/error-text.ts";
import { parseQuantity, quantityValue } from "../../base/quantity.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import { storagePlugin } from "../../domain/metrics/volume-metrics.ts";
import { podDirectory, podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { FileSet } from "../../domain/volumes/file-set.ts";
import { type FileVolume, fileVolume, type KnownToken } from "../../domain/volumes/file-volume.ts";
import { podFileGroup } from "../../domain/volumes/fs-group.ts";
import { kindOf, readyFileDirectory, volumeDirectory } from "../../domain/volumes/layout.ts";
import { nestedDirectories } from "../../domain/volumes/nested-mounts.ts";
import { type TokenSpec, tokensOf } from "../../domain/volumes/token.ts";
import { volumeField } from "../../domain/volumes/volume-field.ts";
import type { MountedVolume, VolumeState } from "../../domain/volumes/volume-state.ts";
import { sameSet } from "../../domain/volumes/write-plan.ts";
import { writeFiles } from "./atomic-writer.ts";
import { type PlannedVolume, planVolume } from "./plan-volume.ts";
import { type SetUpWork, VolumeFailure, type VolumePlan, type VolumePlugin } from "./plugin.ts";
import type { Tokens } from "./tokens.ts";
import { retryMs, type VolumesParts } from "./volumes-parts.ts";

/** What is remembered of a volume between two syncs. */
export interface VolumeMemory {
  mounted: MountedVolume | undefined;
  /** The files as last written. */
  written: FileSet | undefined;
  writtenMonotonicMs: number;
  failures: number;
  /**
   * After a failure the volume is not retried before this time, unless the problem was its content and that has
   * changed.
   */
  retryMonotonicMs: number;
  /**
   * The last reported error in the volume's content, so that the same error is reported again only with the next retry.
   */
  refusal: string | undefined;
}

export const newVolumeMemory = (): VolumeMemory => ({
  mounted: undefined,
  written: undefined,
  writtenMonotonicMs: Number.NEGATIVE_INFINITY,
  failures: 0,
  retryMonotonicMs: Number.NEGATIVE_INFINITY,
  refusal: undefined,
});

interface SetUpRequest {
  readonly memory: VolumeMemory;
  /** Called when nothing is missing and the set-up begins. */
  readonly onMounting: () => void;
}

export interface SetUpResult {
  /** Undefined: unchanged. */
  readonly state: VolumeState | undefined;
  /** The delay until the next sync. */
  readonly againMs: number | undefined;
}

/** A volume is written at most once per interval, however often its objects change. */
const WRITE_EVERY_MS = 100;

/** A placeholder token: checks the volume's files before its tokens are requested. */
const ASSUMED = (): KnownToken => ({ kind: "present", token: "" });

export class VolumeSetup {
  readonly #parts: VolumesParts;
  readonly #tokens: Tokens;
  readonly #shared: Pick<SetUpWork, "staged" | "quotas">;

  constructor(parts: VolumesParts, tokens: Tokens, shared: Pick<SetUpWork, "staged" | "quotas">) {
    this.#parts = parts;
    this.#tokens = tokens;
    this.#shared = shared;
  }

  async setUp(
    pod: Pod,
    volume: Volume,
    { memory, onMounting }: SetUpRequest,
    signal: AbortSignal,
  ): Promise<SetUpResult> {
    const nowMs = this.#parts.ports.clock.monotonicMs();
    const writeMs = memory.writtenMonotonicMs + WRITE_EVERY_MS - nowMs;
    if (writeMs > 0) return { state: undefined, againMs: writeMs };
    const waitMs = memory.retryMonotonicMs - nowMs;
    if (waitMs > 0 && memory.refusal === undefined) return { state: undefined, againMs: waitMs };
    if (memory.mounted !== undefined && kindOf(volume, this.#parts.plugins)?.content !== "written")
      return mountedState(memory);
    const node = await this.#parts.localNode();
    const draft = this.#files(pod, volume, node, ASSUMED);
    if (waitMs > 0 && draft.kind === "refused" && draft.message === memory.refusal)
      return { state: undefined, againMs: waitMs };
    const planned = this.#plan(pod, volume, node);
    if (planned.kind === "unknown") return { state: { kind: "pending" }, againMs: undefined };
    if (planned.kind === "unprocessed") return { state: planned, againMs: undefined };
    try {
      const target = targetOf(planned);
      if (memory.mounted === undefined && memory.failures === 0 && lacksNothing(target.plugin, draft)) onMounting();
      const written = memory.writtenMonotonicMs;
      const isWritten = target.plugin.content === "written";
      const result = isWritten
        ? await this.#setUpFiles(pod, volume, target, { draft, node, memory }, signal)
        : await this.#setUpOther(pod, volume, target, memory, signal);
      if (result.state?.kind === "mounted" && (!isWritten || memory.writtenMonotonicMs !== written)) {
        this.#measure(target.plugin, nowMs, "success");
      }
      Object.assign(memory, { failures: 0, refusal: undefined, retryMonotonicMs: Number.NEGATIVE_INFINITY });
      return result;
    } catch (error) {
      signal.throwIfAborted();
      this.#measure(planned.plugin, nowMs, "fail-unknown");
      return this.#failed(pod, planned.name, memory, error);
    }
  }

  #files(pod: Pod, volume: Volume, node: Node, token: (spec: TokenSpec) => KnownToken): FileVolume {
    return fileVolume(pod, volume, {
      object: (key) => this.#parts.referencedObjects.get(key),
      token,
      field: (item) => volumeField(pod, item, node.status?.allocatable ?? {}),
    });
  }

  #plan(pod: Pod, volume: Volume, node: Node): PlannedVolume {
    const { referencedObjects, nodeName, plugins } = this.#parts;
    const allocatable = node.status?.allocatable?.["memory"];
    return planVolume(pod, volume, {
      plugins,
      object: (key) => referencedObjects.get(key),
      node: { name: nodeName, labels: node.metadata?.labels ?? {} },
      allocatableMemoryBytes: allocatable === undefined ? 0n : quantityValue(parseQuantity(allocatable)),
    });
  }

  async #setUpOther(
    pod: Pod,
    volume: Volume,
    target: Target,
    memory: VolumeMemory,
    signal: AbortSignal,
  ): Promise<SetUpResult> {
    memory.mounted = await this.#runPlugin(pod, volume, target, signal);
    return mountedState(memory);
  }

  async #setUpFiles(
    pod: Pod,
    volume: Volume,
    target: Target,
    { draft, node, memory }: { readonly draft: FileVolume; readonly node: Node; readonly memory: VolumeMemory },
    signal: AbortSignal,
  ): Promise<SetUpResult> {
    const { ports } = this.#parts;
    if (draft.kind === "refused") {
      memory.refusal = draft.message;
      throw new VolumeFailure("MountVolume.SetUp failed", draft.message);
    }
    const specs = tokensOf(volume);
    const { token, againMs } = await this.#tokens.ensure(pod, specs, signal);
    const made = specs.length === 0 ? draft : this.#files(pod, volume, node, token);
    if (made.kind === "refused") throw new VolumeFailure("MountVolume.SetUp failed", made.message);
    if (made.kind === "waits")
      return { state: memory.mounted === undefined ? { kind: "pending" } : undefined, againMs };
    if (memory.written !== undefined && sameSet(memory.written, made.files))
      return { ...mountedState(memory), againMs };
    const mounted = memory.mounted ?? (await this.#runPlugin(pod, volume, target, signal));
    const nested = nestedDirectories(pod, volume.name);
    for (const directory of nested) await ports.files.makeDirectory(`${mounted.path}/${directory}`, 0o755);
    const place = { directory: mounted.path, nested, group: podFileGroup(pod) };
    const { written } = memory;
    // If the write fails midway, the directory may match neither set.
    memory.written = undefined;
    await writeFiles(ports, place, made.files, written);
    memory.written = made.files;
    memory.writtenMonotonicMs = ports.clock.monotonicMs();
    memory.mounted = mounted;
    return { ...mountedState(memory), againMs };
  }

  async #runPlugin(
    pod: Pod,
    volume: Volume,
    { plugin, name, setUp }: Target,
    signal: AbortSignal,
  ): Promise<MountedVolume> {
    const { ports, rootDir } = this.#parts;
    const directory = podDirectory(rootDir, podNameOfObject(pod).uid);
    const mounted = await setUp({
      pod,
      volume,
      name,
      rootDir,
      podDirectory: directory,
      path: volumeDirectory(directory, plugin.name, name),
      readyFileDirectory: readyFileDirectory(directory, plugin.name, name),
      ports,
      ...this.#shared,
      signal,
    });
    return { name, ...mounted };
  }

  /** For a volume without a plugin nothing was attempted. */
  #measure(plugin: VolumePlugin | undefined, sinceMs: number, status: "success" | "fail-unknown"): void {
    const { ports, volumeMetrics } = this.#parts;
    if (plugin === undefined) return;
    const seconds = (ports.clock.monotonicMs() - sinceMs) / 1000;
    volumeMetrics?.operations.observe(seconds, storagePlugin(plugin.name), "volume_mount", status, "false");
  }

  #failed(pod: Pod, name: string, memory: VolumeMemory, error: unknown): SetUpResult {
    const { ports } = this.#parts;
    memory.failures += 1;
    const againMs = retryMs(memory.failures);
    memory.retryMonotonicMs = ports.clock.monotonicMs() + againMs;
    const operation = error instanceof VolumeFailure ? error.operation : "MountVolume.SetUp failed";
    const message = `${operation} for volume "${name}" : ${errorText(error)}`;
    ports.events.emit(podSubject(pod), "Warning", "FailedMount", message);
    return { state: memory.mounted === undefined ? { kind: "failed", message } : undefined, againMs };
  }
}

/** A volume that can be set up. */
interface Target extends Pick<Extract<VolumePlan, { kind: "planned" }>, "setUp"> {
  readonly plugin: VolumePlugin;
  readonly name: string;
}

function targetOf({ plugin, name, plan }: Extract<PlannedVolume, { kind: "planned" }>): Target {
  if (plan.kind === "refused") throw new VolumeFailure(plan.operation, plan.message);
  assert(plugin !== undefined, "a plan has its plugin");
  return { plugin, name, setUp: plan.setUp };
}

const mountedState = ({ mounted }: VolumeMemory): SetUpResult => ({
  state: mounted === undefined ? undefined : { kind: "mounted", volume: mounted },
  againMs: undefined,
});

/**
 * Whether only this node has work to do, besides token requests to the API server. For content that exists elsewhere
 * the node must first be inspected.
 */
const lacksNothing = ({ content }: VolumePlugin, draft: FileVolume): boolean =>
  content === "written" ? draft.kind === "files" : content === "own";
