/** One volume of one pod: what it is to be, whether that is there, and what is done about it. A refresh that fails leaves what a running pod uses as it is. */
import type { Node, Pod, Volume } from "../../api/gen/core-v1.ts";
import { assert } from "../../base/assert.ts";
import { errorText } from "../../base/error-text.ts";
import { parseQuantity, quantityValue } from "../../base/quantity.ts";
import { storagePlugin } from "../../domain/metrics/volume-metrics.ts";
import { podFolder, podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { FileSet } from "../../domain/volumes/file-set.ts";
import { type FileVolume, fileVolume, type KnownToken } from "../../domain/volumes/file-volume.ts";
import { podFileGroup } from "../../domain/volumes/fs-user.ts";
import { kindOf, markerFolder, volumeFolder } from "../../domain/volumes/layout.ts";
import { nestedFolders } from "../../domain/volumes/nested-mounts.ts";
import { type TokenWish, tokensOf } from "../../domain/volumes/token.ts";
import { volumeField } from "../../domain/volumes/volume-field.ts";
import type { MountedVolume, VolumeState } from "../../domain/volumes/volume-state.ts";
import { sameSet } from "../../domain/volumes/write-plan.ts";
import { writeFiles } from "./atomic-writer.ts";
import { type PlannedVolume, planVolume } from "./plan-volume.ts";
import type { VolumePlan, VolumePlugin } from "./plugin.ts";
import type { StagedVolumes } from "./staged-volumes.ts";
import type { Tokens } from "./tokens.ts";
import { VolumeFailure } from "./volume-failure.ts";
import { retryMs, type VolumesParts } from "./volumes-parts.ts";

/** What is remembered of a volume between two turns. */
export interface HeldVolume {
  mounted: MountedVolume | undefined;
  /** What its files were last written as. */
  written: FileSet | undefined;
  writtenMonotonicMs: number;
  failures: number;
  /** Not before this is it worked upon again after a failure. What it holds may change meanwhile, and be right. */
  retryMonotonicMs: number;
  /** What was last said of what it should hold, so that it is said again only when it is tried again. */
  refusal: string | undefined;
}

export const newHeld = (): HeldVolume => ({
  mounted: undefined,
  written: undefined,
  writtenMonotonicMs: Number.NEGATIVE_INFINITY,
  failures: 0,
  retryMonotonicMs: Number.NEGATIVE_INFINITY,
  refusal: undefined,
});

interface Bringing {
  readonly held: HeldVolume;
  /** Nothing is missing, and the work begins that brings it here. */
  readonly onComing: () => void;
}

export interface Brought {
  /** Undefined: as before. */
  readonly state: VolumeState | undefined;
  /** When to come again. */
  readonly againMs: number | undefined;
}

/** However often its objects change, a volume is written no more often than this. */
const WRITE_EVERY_MS = 100;

/** What can be told of its files before its tokens are asked for. */
const ASSUMED = (): KnownToken => ({ kind: "present", token: "" });

export class BringVolume {
  readonly #parts: VolumesParts;
  readonly #tokens: Tokens;
  readonly #staged: StagedVolumes;

  constructor(parts: VolumesParts, tokens: Tokens, staged: StagedVolumes) {
    this.#parts = parts;
    this.#tokens = tokens;
    this.#staged = staged;
  }

  async bring(pod: Pod, volume: Volume, { held, onComing }: Bringing, signal: AbortSignal): Promise<Brought> {
    const nowMs = this.#parts.ports.clock.monotonicMs();
    const writeMs = held.writtenMonotonicMs + WRITE_EVERY_MS - nowMs;
    if (writeMs > 0) return { state: undefined, againMs: writeMs };
    const waitMs = held.retryMonotonicMs - nowMs;
    if (waitMs > 0 && held.refusal === undefined) return { state: undefined, againMs: waitMs };
    if (held.mounted !== undefined && kindOf(volume, this.#parts.plugins)?.content !== "written")
      return mountedState(held);
    const node = await this.#parts.localNode();
    const draft = this.#files(pod, volume, node, ASSUMED);
    if (waitMs > 0 && draft.kind === "refused" && draft.message === held.refusal)
      return { state: undefined, againMs: waitMs };
    const planned = this.#plan(pod, volume, node);
    if (planned.kind === "unknown") return { state: { kind: "pending" }, againMs: undefined };
    if (planned.kind === "unprocessed") return { state: planned, againMs: undefined };
    try {
      const target = targetOf(planned);
      if (held.mounted === undefined && held.failures === 0 && lacksNothing(target.plugin, draft)) onComing();
      const written = held.writtenMonotonicMs;
      const isWritten = target.plugin.content === "written";
      const brought = isWritten
        ? await this.#bringFiles(pod, volume, target, { draft, node, held }, signal)
        : await this.#bringOther(pod, volume, target, held, signal);
      if (brought.state?.kind === "mounted" && (!isWritten || held.writtenMonotonicMs !== written)) {
        this.#measure(target.plugin, nowMs, "success");
      }
      Object.assign(held, { failures: 0, refusal: undefined, retryMonotonicMs: Number.NEGATIVE_INFINITY });
      return brought;
    } catch (error) {
      signal.throwIfAborted();
      this.#measure(planned.plugin, nowMs, "fail-unknown");
      return this.#failed(pod, planned.name, held, error);
    }
  }

  #files(pod: Pod, volume: Volume, node: Node, token: (wish: TokenWish) => KnownToken): FileVolume {
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

  async #bringOther(pod: Pod, volume: Volume, target: Target, held: HeldVolume, signal: AbortSignal): Promise<Brought> {
    held.mounted = await this.#setUp(pod, volume, target, signal);
    return mountedState(held);
  }

  async #bringFiles(
    pod: Pod,
    volume: Volume,
    target: Target,
    { draft, node, held }: { readonly draft: FileVolume; readonly node: Node; readonly held: HeldVolume },
    signal: AbortSignal,
  ): Promise<Brought> {
    const { ports } = this.#parts;
    if (draft.kind === "refused") {
      held.refusal = draft.message;
      throw new VolumeFailure("MountVolume.SetUp failed", draft.message);
    }
    const wishes = tokensOf(volume);
    const { token, againMs } = await this.#tokens.bring(pod, wishes, signal);
    const made = wishes.length === 0 ? draft : this.#files(pod, volume, node, token);
    if (made.kind === "refused") throw new VolumeFailure("MountVolume.SetUp failed", made.message);
    if (made.kind === "waits") return { state: held.mounted === undefined ? { kind: "pending" } : undefined, againMs };
    if (held.written !== undefined && sameSet(held.written, made.files)) return { ...mountedState(held), againMs };
    const mounted = held.mounted ?? (await this.#setUp(pod, volume, target, signal));
    const nested = nestedFolders(pod, volume.name);
    for (const folder of nested) await ports.files.makeFolder(`${mounted.path}/${folder}`, 0o755);
    const place = { folder: mounted.path, nested, group: podFileGroup(pod) };
    const { written } = held;
    // Should it fail midway, what is there is neither the one nor the other.
    held.written = undefined;
    await writeFiles(ports, place, made.files, written);
    held.written = made.files;
    held.writtenMonotonicMs = ports.clock.monotonicMs();
    held.mounted = mounted;
    return { ...mountedState(held), againMs };
  }

  async #setUp(pod: Pod, volume: Volume, { plugin, name, setUp }: Target, signal: AbortSignal): Promise<MountedVolume> {
    const { ports, rootDir } = this.#parts;
    const directory = podFolder(rootDir, podNameOfObject(pod).uid);
    const mounted = await setUp({
      pod,
      volume,
      name,
      rootDir,
      podFolder: directory,
      path: volumeFolder(directory, plugin.name, name),
      marker: markerFolder(directory, plugin.name, name),
      ports,
      staged: this.#staged,
      signal,
    });
    return { name, ...mounted };
  }

  /** Of a volume that no plugin serves nothing was tried. */
  #measure(plugin: VolumePlugin | undefined, sinceMs: number, status: "success" | "fail-unknown"): void {
    const { ports, volumeMetrics } = this.#parts;
    if (plugin === undefined) return;
    const seconds = (ports.clock.monotonicMs() - sinceMs) / 1000;
    volumeMetrics?.operations.observe(seconds, storagePlugin(plugin.name), "volume_mount", status, "false");
  }

  #failed(pod: Pod, name: string, held: HeldVolume, error: unknown): Brought {
    const { ports } = this.#parts;
    held.failures += 1;
    const againMs = retryMs(held.failures);
    held.retryMonotonicMs = ports.clock.monotonicMs() + againMs;
    const operation = error instanceof VolumeFailure ? error.operation : "MountVolume.SetUp failed";
    const message = `${operation} for volume "${name}" : ${errorText(error)}`;
    ports.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Warning", "FailedMount", message);
    return { state: held.mounted === undefined ? { kind: "failed", message } : undefined, againMs };
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

const mountedState = ({ mounted }: HeldVolume): Brought => ({
  state: mounted === undefined ? undefined : { kind: "mounted", volume: mounted },
  againMs: undefined,
});

/** Whether only this node has work to do, and the API server for tokens. Of what exists elsewhere the node must first be asked what it is. */
const lacksNothing = ({ content }: VolumePlugin, draft: FileVolume): boolean =>
  content === "written" ? draft.kind === "files" : content === "own";
