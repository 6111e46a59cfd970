/** A node's images, containers and pods in memory, with the removal of images running over them. */

import { FakeTracer } from "../../sim/fake-tracer.ts";
import { LatestCell } from "../../src/concurrency/latest-cell.ts";
import { LatestTable } from "../../src/concurrency/latest-table.ts";
import { collectImages, type ImageGcOptions } from "../../src/controllers/images/image-gc.ts";
import { NO_RECLAIM_REQUESTS, NOTHING_RECLAIMED } from "../../src/domain/eviction/reclaim.ts";
import type { ImageGcPolicy, ImageRecords } from "../../src/domain/images/image-gc.ts";
import { kubeletMetrics } from "../../src/domain/metrics/kubelet-metrics.ts";
import type { AdmittedPod } from "../../src/domain/pod/admitted-pod.ts";
import type { PodOutcome } from "../../src/domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../src/domain/pod/runtime-view.ts";
import type { Container, ContainerStatus } from "../../src/domain/runtime/container.ts";
import type { Image } from "../../src/domain/runtime/image.ts";
import type { FilesystemFacts } from "../../src/ports/machine.ts";
import { RuntimeError } from "../../src/ports/runtime-error.ts";
import { ManualClock } from "./manual-clock.ts";
import { admittedVerdict, container, pod } from "./pods.ts";
import { keptLog } from "./quiet-log.ts";

const MIB = 1024n ** 2n;
const POLICY: ImageGcPolicy = {
  highPercent: 85,
  lowPercent: 80,
  ageMsMin: 120_000,
  ageMsMax: 0,
  keep: [],
  keepUnreachable: false,
};

export function imageGcWorld(policy: Partial<ImageGcPolicy> = {}) {
  const clock = new ManualClock();
  const end = new AbortController();
  const log = keptLog();
  const tracer = new FakeTracer(clock);
  const metrics = kubeletMetrics(() => clock.monotonicMs());
  const images = new Map<string, Image>();
  const containers = new Map<string, ContainerStatus>();
  const events: string[] = [];
  const removed: string[] = [];
  /** What the next calls do wrong, by the call's name. */
  const faults = new Map<string, RuntimeError>();
  /** Called before an image is removed. */
  const hooks: { beforeRemoval: (id: string) => void } = { beforeRemoval: () => {} };
  const disk: { capacityBytes: bigint; usedBytes: bigint } = { capacityBytes: 1000n * MIB, usedBytes: 0n };
  const cells = {
    admittedPods: new LatestTable<string, AdmittedPod>(),
    podOutcomes: new LatestTable<string, PodOutcome>(),
    podRuntimeStatus: new LatestTable<string, PodRuntimeView>(),
    unreachableRegistries: new LatestCell<ReadonlySet<string>>(new Set()),
    sourcesReady: new LatestCell(true),
    reclaimRequests: new LatestCell(NO_RECLAIM_REQUESTS),
    imagesReclaimed: new LatestCell(NOTHING_RECLAIMED),
    imageRecords: new LatestCell<ImageRecords>(new Map()),
  };
  const check = (name: string) => {
    const fault = faults.get(name);
    if (fault !== undefined) throw fault;
  };
  const filesystem = async (): Promise<FilesystemFacts> => {
    check("statfs");
    const { capacityBytes, usedBytes } = disk;
    const availableBytes = capacityBytes - usedBytes;
    return { device: "1", capacityBytes, availableBytes, inodes: 1n, inodesFree: 1n };
  };
  const options: ImageGcOptions = {
    ...cells,
    clock,
    log,
    tracer,
    events: { emit: (_subject, type, reason, message) => void events.push(`${type} ${reason}: ${message}`) },
    nodeName: "n1",
    policy: { ...POLICY, ...policy },
    imageMetrics: metrics.images,
    machine: { filesystem },
    images: {
      listImages: async () => {
        check("listImages");
        return [...images.values()];
      },
      imageFilesystems: async () => {
        check("imageFilesystems");
        return { images: [{ wallNs: 0n, mountpoint: "/images" }], containers: [] };
      },
      removeImage: async ({ image }) => {
        hooks.beforeRemoval(image);
        check(`removeImage ${image}`);
        disk.usedBytes -= images.get(image)?.sizeBytes ?? 0n;
        images.delete(image);
        removed.push(image);
      },
    },
    runtime: {
      listContainers: async (): Promise<readonly Container[]> => {
        check("listContainers");
        return [...containers.values()].map((status) => ({ ...status, sandboxId: "s" }));
      },
      containerStatus: async (id) => {
        const status = containers.get(id);
        if (status === undefined) throw new RuntimeError("ContainerStatus", "notFound", id);
        return { status, info: {} };
      },
    },
  };
  return {
    clock,
    end,
    log,
    tracer,
    metrics,
    cells,
    options,
    images,
    containers,
    events,
    removed,
    faults,
    hooks,
    disk,
    /** Adds an image that occupies space. */
    load(id: string, sizeMib = 100, more: Partial<Image> = {}): void {
      const sizeBytes = BigInt(sizeMib) * MIB;
      images.set(id, { id, tags: [`docker.io/library/${id}:1`], digests: [], sizeBytes, pinned: false, ...more });
      disk.usedBytes += sizeBytes;
    },
    /** Fills the disk to so many percent. */
    fill(percent: number): void {
      disk.usedBytes = (disk.capacityBytes * BigInt(percent)) / 100n;
    },
    addPod(uid: string, image: string): void {
      const of = pod({ containers: [container("app", { image })] }, { name: uid, namespace: "default", uid });
      const admitted = { uid, pod: of, isStatic: false, firstSeenWallMs: 0, verdict: admittedVerdict(of) };
      cells.admittedPods.set(uid, admitted);
    },
    /** Starts the loop. `stop` ends it and rejects if it failed. */
    start(): { readonly stop: () => Promise<void> } {
      const running = collectImages(options, end.signal);
      return {
        stop: async () => {
          end.abort(new Error("over"));
          await running;
        },
      };
    },
  };
}
