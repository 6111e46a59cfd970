/**
 * A node whose image filesystem is too full when its agent starts: unused images are removed down to the low threshold,
 * and the images of pods stay, whether they run, wait for a container, or wait for a pull.
 */

import { FakeRegistry } from "../fake-runtime/registry.ts";
import { kubeletWith } from "../kubelet.ts";
import type { PortCall } from "../port-calls.ts";
import { app, pod, SERVER } from "../workload/pod.ts";
import { all, isRunning } from "./ends.ts";
import type { Scenario, Stage } from "./scenario.ts";

const CAPACITY_BYTES = 60_000_000n;
const [HIGH_PERCENT, LOW_PERCENT] = [85, 60];
/** Of every image in the registry. */
const IMAGE_BYTES = 5_000_000n;
const UNUSED = Array.from({ length: 8 }, (_, index) => `unused-${index}`);
/** By the name of its pod. */
const IMAGES = { runs: "busybox", waits: "preloaded", pulls: "slow" } as const;
const KEPT = ["busybox", "preloaded", "slow", "kept.example/tools:1", "pinned"];

const IMAGE_GC_FLAGS = [
  `--image-gc-high-threshold=${HIGH_PERCENT}`,
  `--image-gc-low-threshold=${LOW_PERCENT}`,
  "--minimum-image-ttl-duration=0s",
  "--deckhand-image-gc-keep=kept.example/*",
] as const;

function fillDisk({ node, world, create }: Stage): void {
  const { images } = node.runtime;
  for (const name of [...UNUSED, "preloaded", "kept.example/tools:1"]) images.load(name, {});
  images.load("pinned", { isPinned: true });
  world.registry.add("slow");
  world.registry.pullMs = () => 1_500;
  node.machine.filesystems.set("/var/lib/containerd", {
    device: "2",
    capacityBytes: CAPACITY_BYTES,
    get availableBytes() {
      const used = usedBytes(node);
      return used < CAPACITY_BYTES ? CAPACITY_BYTES - used : 0n;
    },
    inodes: 1_000n,
    inodesFree: 900n,
  });
  create(pod("runs", app(SERVER, { image: IMAGES.runs })));
  create(pod("waits", app(SERVER, { image: IMAGES.waits, imagePullPolicy: "Never" })));
  create(pod("pulls", app(SERVER, { image: IMAGES.pulls })));
}

const usedBytes = ({ runtime }: Stage["node"]): bigint =>
  runtime.images.list().reduce((sum, { sizeBytes }) => sum + sizeBytes, 0n);

const has = ({ runtime }: Stage["node"], name: string): boolean => runtime.images.find(name) !== undefined;

/**
 * An agent that was killed on its way to the low threshold need not go on once the usage is below the high one, and the
 * image that is being pulled comes after that. An image whose removal got no reply does not count as freed space.
 */
function disk({ node }: Stage): readonly string[] {
  const missing = KEPT.filter((name) => !has(node, name)).map((name) => `${name} was removed`);
  const unpulled = usedBytes(node) - IMAGE_BYTES;
  const percent = Number((unpulled * 100n) / CAPACITY_BYTES);
  const isFull = percent >= HIGH_PERCENT ? [`${percent}% of the disk are in use`] : [];
  const low = (CAPACITY_BYTES * BigInt(LOW_PERCENT)) / 100n;
  const isTooEmpty = unpulled + 2n * IMAGE_BYTES < low ? [`${percent}% in use: too much was removed`] : [];
  return [...missing, ...isFull, ...isTooEmpty];
}

const scenario = (name: string, fault?: Scenario["fault"]): Scenario => ({
  name,
  agent: kubeletWith(...IMAGE_GC_FLAGS),
  before: fillDisk,
  steps: [],
  lastsMs: 12_000,
  ...(fault && { fault }),
  wrong: all(isRunning("runs"), isRunning("waits"), isRunning("pulls"), disk),
});

/** Images that were never used are removed in the order of their IDs. */
const [FIRST] = UNUSED.map((name) => new FakeRegistry().add(`${name}:latest`).id).toSorted();

const loseReply = ({ name, target }: PortCall) =>
  name === "RemoveImage" && target === FIRST ? ({ kind: "fail", effect: "done" } as const) : undefined;

export const withImageGc: readonly Scenario[] = [
  scenario("unused images are removed from a full disk"),
  scenario("the reply to a removal of an image is lost", loseReply),
];
