/** One volume of one pod: what it is to be, whether that is there, and what is done about it. A refresh that fails leaves what a running pod uses as it is. */
import type { Node, Pod, Volume } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { parseQuantity, quantityValue } from "../../base/quantity.ts";
import { storagePlugin } from "../../domain/metrics/volume-metrics.ts";
import { podFolder, podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { FileSet } from "../../domain/volumes/file-set.ts";
import { type FileVolume, fileVolume, type KnownToken } from "../../domain/volumes/file-volume.ts";
import { podFileGroup } from "../../domain/volumes/fs-user.ts";
import { nestedFolders } from "../../domain/volumes/nested-mounts.ts";
import { type TokenWish, tokensOf } from "../../domain/volumes/token.ts";
import { volumeField } from "../../domain/volumes/volume-field.ts";
import type { MountedVolume, VolumeState } from "../../domain/volumes/volume-state.ts";
import { placeOf, type VolumeWish, volumeWish } from "../../domain/volumes/volume-wish.ts";
import { sameSet } from "../../domain/volumes/write-plan.ts";
import { writeFiles } from "./atomic-writer.ts";
import type { DeviceMounts } from "./device-mounts.ts";
import { setUpVolume } from "./set-up.ts";
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
  readonly #devices: DeviceMounts;

  constructor(parts: VolumesParts, tokens: Tokens, devices: DeviceMounts) {
    this.#parts = parts;
    this.#tokens = tokens;
    this.#devices = devices;
  }

  async bring(pod: Pod, volume: Volume, { held, onComing }: Bringing, signal: AbortSignal): Promise<Brought> {
    const nowMs = this.#parts.ports.clock.monotonicMs();
    const writeMs = held.writtenMonotonicMs + WRITE_EVERY_MS - nowMs;
    if (writeMs > 0) return { state: undefined, againMs: writeMs };
    const waitMs = held.retryMonotonicMs - nowMs;
    if (waitMs > 0 && held.refusal === undefined) return { state: undefined, againMs: waitMs };
    if (held.mounted !== undefined && !isWritten(volume)) return mountedState(held);
    const node = await this.#parts.localNode();
    const draft = this.#files(pod, volume, node, ASSUMED);
    if (waitMs > 0 && draft.kind === "refused" && draft.message === held.refusal)
      return { state: undefined, againMs: waitMs };
    const wish = this.#wish(pod, volume, node);
    if (wish.kind === "unknown") return { state: { kind: "pending" }, againMs: undefined };
    if (wish.kind === "unprocessed") return { state: wish, againMs: undefined };
    try {
      if (wish.kind === "refused") throw new VolumeFailure(wish.operation, wish.message);
      if (held.mounted === undefined && held.failures === 0 && lacksNothing(wish, draft)) onComing();
      const written = held.writtenMonotonicMs;
      const brought =
        wish.kind === "files"
          ? await this.#bringFiles(pod, volume, wish, { draft, node, held }, signal)
          : await this.#bringOther(pod, volume, wish, held, signal);
      if (brought.state?.kind === "mounted" && (wish.kind !== "files" || held.writtenMonotonicMs !== written)) {
        this.#measure(volume, wish, nowMs, "success");
      }
      Object.assign(held, { failures: 0, refusal: undefined, retryMonotonicMs: Number.NEGATIVE_INFINITY });
      return brought;
    } catch (error) {
      signal.throwIfAborted();
      this.#measure(volume, wish, nowMs, "fail-unknown");
      return this.#failed(pod, volume, wish, held, error);
    }
  }

  #files(pod: Pod, volume: Volume, node: Node, token: (wish: TokenWish) => KnownToken): FileVolume {
    return fileVolume(pod, volume, {
      object: (key) => this.#parts.referencedObjects.get(key),
      token,
      field: (item) => volumeField(pod, item, node.status?.allocatable ?? {}),
    });
  }

  #wish(pod: Pod, volume: Volume, node: Node): VolumeWish {
    const { referencedObjects, nodeName } = this.#parts;
    const allocatable = node.status?.allocatable?.["memory"];
    return volumeWish(pod, volume, {
      object: (key) => referencedObjects.get(key),
      node: { name: nodeName, labels: node.metadata?.labels ?? {} },
      allocatableMemoryBytes: allocatable === undefined ? 0n : quantityValue(parseQuantity(allocatable)),
    });
  }

  async #bringOther(
    pod: Pod,
    volume: Volume,
    wish: Exclude<VolumeWish, { kind: "unknown" | "unprocessed" | "refused" | "files" }>,
    held: HeldVolume,
    signal: AbortSignal,
  ): Promise<Brought> {
    held.mounted = await setUpVolume(this.#setUp(pod, volume, signal), wish);
    return mountedState(held);
  }

  async #bringFiles(
    pod: Pod,
    volume: Volume,
    wish: Extract<VolumeWish, { kind: "files" }>,
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
    const mounted = held.mounted ?? (await setUpVolume(this.#setUp(pod, volume, signal), wish));
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

  #setUp(pod: Pod, volume: Volume, signal: AbortSignal) {
    const { ports, rootDir } = this.#parts;
    const { uid } = podNameOfObject(pod);
    return { pod, podFolder: podFolder(rootDir, uid), volume, ports, devices: this.#devices, signal };
  }

  #measure(volume: Volume, wish: VolumeWish, sinceMs: number, status: "success" | "fail-unknown"): void {
    const { ports, volumeMetrics } = this.#parts;
    const seconds = (ports.clock.monotonicMs() - sinceMs) / 1000;
    const plugin = storagePlugin(placeOf(volume, wish).plugin);
    volumeMetrics?.operations.observe(seconds, plugin, "volume_mount", status, "false");
  }

  #failed(pod: Pod, volume: Volume, wish: VolumeWish, held: HeldVolume, error: unknown): Brought {
    const { ports } = this.#parts;
    held.failures += 1;
    const againMs = retryMs(held.failures);
    held.retryMonotonicMs = ports.clock.monotonicMs() + againMs;
    const operation = error instanceof VolumeFailure ? error.operation : "MountVolume.SetUp failed";
    const message = `${operation} for volume "${placeOf(volume, wish).name}" : ${errorText(error)}`;
    ports.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Warning", "FailedMount", message);
    return { state: held.mounted === undefined ? { kind: "failed", message } : undefined, againMs };
  }
}

const mountedState = ({ mounted }: HeldVolume): Brought => ({
  state: mounted === undefined ? undefined : { kind: "mounted", volume: mounted },
  againMs: undefined,
});

/** Whether only this node has to work for it, and the API server for its tokens. Of a place on the node it must be seen first what it is. */
const lacksNothing = ({ kind }: VolumeWish, draft: FileVolume): boolean =>
  kind === "files" ? draft.kind === "files" : kind === "folder" || kind === "memory" || kind === "hugepages";

/** Whose content follows what the cluster says, for as long as the pod lives. */
const isWritten = ({ configMap, secret, downwardAPI, projected }: Volume): boolean =>
  [configMap, secret, downwardAPI, projected].some((source) => source !== undefined);
