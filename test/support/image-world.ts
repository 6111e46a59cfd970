/** Image pulls on a runtime that the test controls, with all events they emit. */
import { FakeFiles } from "../../sim/fake-files.ts";
import type { Pod, PodSpec, Secret } from "../../src/api/gen/core-v1.ts";
import type { ApiObject } from "../../src/api/resource.ts";
import { LatestCell } from "../../src/concurrency/latest-cell.ts";
import { LatestTable } from "../../src/concurrency/latest-table.ts";
import { ImagePulls, type PullLimits } from "../../src/controllers/images/pulls.ts";
import { type KnownObject, objectKey } from "../../src/domain/cluster-objects/references.ts";
import type { PullProgress } from "../../src/domain/images/pull-progress.ts";
import type { Image, RegistryCredentials } from "../../src/domain/runtime/image.ts";
import { RuntimeError, type RuntimeErrorCode } from "../../src/ports/runtime-error.ts";
import { ManualClock } from "./manual-clock.ts";
import { pod } from "./pods.ts";
import { keptLog } from "./quiet-log.ts";

export interface PullCall {
  readonly image: string;
  readonly credentials: RegistryCredentials | undefined;
  readonly signal: AbortSignal;
  succeed(): void;
  fail(detail: string, code?: RuntimeErrorCode): void;
}

export interface Asking {
  readonly image?: string;
  readonly policy?: string;
  readonly requester?: string;
  readonly uid?: string;
  readonly spec?: Partial<PodSpec>;
  readonly signal?: AbortSignal;
}

export const anImage = (name: string): Image => ({
  id: `id of ${name}`,
  tags: [name],
  digests: [],
  sizeBytes: 7n,
  pinned: false,
});

const NO_LIMITS: PullLimits = { most: 5, perSecond: 0, burst: 0 };

export function imageWorld(limits: Partial<PullLimits> = {}) {
  const clock = new ManualClock();
  const end = new AbortController();
  const files = new FakeFiles({ clock });
  const log = keptLog();
  const present = new Set<string>();
  const calls: PullCall[] = [];
  const reported: string[] = [];
  const referencedObjects = new LatestTable<string, KnownObject<ApiObject>>();
  const pullsUnderWay = new LatestTable<string, PullProgress>();
  const unreachableRegistries = new LatestCell<ReadonlySet<string>>(new Set());
  const settled: string[] = [];
  pullsUnderWay.watch((key) => pullsUnderWay.get(key)?.kind === "settled" && settled.push(key));
  const inspection: { refuses: RuntimeError | undefined } = { refuses: undefined };
  const pulls = new ImagePulls({
    images: {
      imageStatus: async ({ image }) => {
        if (inspection.refuses !== undefined) throw inspection.refuses;
        return present.has(image) ? anImage(image) : undefined;
      },
      pullImage: ({ image }, { credentials }, signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          const succeed = () => {
            present.add(image);
            resolve(anImage(image).id);
          };
          const fail: PullCall["fail"] = (detail, code = "unknown") =>
            reject(new RuntimeError("PullImage", code, detail));
          calls.push({ image, credentials, signal, succeed, fail });
        }),
    },
    files: files.port,
    events: { emit: (_subject, type, reason, message) => void reported.push(`${type} ${reason}: ${message}`) },
    clock,
    log,
    referencedObjects,
    pullsUnderWay,
    unreachableRegistries,
    limits: { ...NO_LIMITS, ...limits },
    directories: { root: "/root-dir", working: "/working", home: "/home" },
  });
  const running = pulls.run(end.signal);
  const podOf = ({ uid = "u1", spec = {} }: Asking): Pod => pod(spec, { uid });
  return {
    clock,
    files,
    log,
    present,
    calls,
    reported,
    settled,
    pulls,
    pullsUnderWay,
    unreachableRegistries,
    referencedObjects,
    inspection,
    podOf,
    ensure: async (asking: Asking = {}) => {
      const { image = "busybox", policy = "Always", requester = "app", signal = end.signal } = asking;
      const emit = (type: string, reason: string, message: string) =>
        void reported.push(`${requester}: ${type} ${reason}: ${message}`);
      const request = { pod: podOf(asking), requester, image, policy, sandbox: SANDBOX, emit };
      return pulls.ensure(request, signal);
    },
    setSecret: (name: string, resourceVersion: string, auths: unknown) => {
      const data = { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") };
      const object: Secret = { metadata: { name, resourceVersion }, type: "kubernetes.io/dockerconfigjson", data };
      referencedObjects.set(objectKey("Secret", "default", name), { kind: "present", object });
    },
    setMissing: (name: string) => referencedObjects.set(objectKey("Secret", "default", name), { kind: "missing" }),
    finish: async () => {
      end.abort(new Error("over"));
      await running;
    },
  };
}

export type ImageWorld = ReturnType<typeof imageWorld>;

const SANDBOX = {
  metadata: { name: "p", namespace: "default", uid: "u1", attempt: 0 },
  hostname: "p",
  logDirectory: "/logs",
  cgroupParent: "/pod",
};
