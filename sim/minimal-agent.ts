/**
 * The smallest agent that shows what the world can do: it registers its Node, renews a Lease, and keeps one running
 * container per pod, listing before it creates. It replaces the kubelet in tests of the world itself.
 */
import type { Pod } from "../src/api/gen/core-v1.ts";
import { leases, nodes, pods } from "../src/api/resources.ts";
import type { KubeletPorts } from "../src/app/wiring.ts";
import { LatestCell } from "../src/concurrency/latest-cell.ts";
import { sleep } from "../src/concurrency/sleep.ts";
import type { SandboxConfig } from "../src/domain/runtime/sandbox.ts";
import { isAlreadyExists, isNotFound } from "../src/ports/api-error.ts";
import type { ApiServer } from "../src/ports/api-server.ts";
import type { AgentFactory } from "./sim-node.ts";

const LEASE_EVERY_MS = 10_000;
const SYNC_EVERY_MS = 30_000;
const RETRY_MS = 1000;
const NAMESPACE = "kube-node-lease";

export const minimalAgent: AgentFactory = (ports, { name }) => ({
  run: async (shutdown) => {
    const api = ports.api?.main;
    if (api === undefined) throw new Error("the minimal agent needs an API server");
    const wanted = new LatestCell<ReadonlyMap<string, Pod>>(new Map());
    const loops = [
      () => register(api, name, shutdown),
      () => renewLease(ports, api, name, shutdown),
      () => followPods(api, name, wanted, shutdown),
      () => syncPods(ports, api, wanted, shutdown),
    ];
    await Promise.all(loops.map((loop) => persist(ports, shutdown, loop)));
  },
});

/** Retries a failing loop until the agent is shut down. */
async function persist({ clock }: KubeletPorts, shutdown: AbortSignal, loop: () => Promise<void>): Promise<void> {
  while (!shutdown.aborted) {
    try {
      await loop();
      return;
    } catch {
      await sleep(clock, RETRY_MS, shutdown).catch(() => {}); // The loop above sees the signal.
    }
  }
}

async function register(api: ApiServer, name: string, shutdown: AbortSignal): Promise<void> {
  try {
    await api.create(nodes, { metadata: { name } }, shutdown);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

async function renewLease(ports: KubeletPorts, api: ApiServer, name: string, shutdown: AbortSignal): Promise<void> {
  const target = { namespace: NAMESPACE, name };
  const found = await api.get(leases, target, shutdown).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  let lease = found ?? (await api.create(leases, { metadata: target, spec: { holderIdentity: name } }, shutdown));
  for (;;) {
    await sleep(ports.clock, LEASE_EVERY_MS * (1 + ports.random.fraction() * 0.04), shutdown);
    const renewTime = new Date(ports.clock.wallMs()).toISOString();
    lease = await api.update(leases, { ...lease, spec: { ...lease.spec, renewTime } }, {}, shutdown);
  }
}

async function followPods(
  api: ApiServer,
  name: string,
  wanted: LatestCell<ReadonlyMap<string, Pod>>,
  shutdown: AbortSignal,
): Promise<void> {
  const known = new Map<string, Pod>();
  for (;;) {
    const fresh = new Map<string, Pod>();
    let isComplete = false;
    for await (const event of api.watch(
      pods,
      { fields: `spec.nodeName=${name}` },
      { kind: "initialEvents" },
      shutdown,
    )) {
      if (event.kind === "bookmark") {
        isComplete ||= event.initialEventsEnd;
      } else {
        const uid = event.object.metadata?.uid ?? "";
        if (event.kind === "deleted") fresh.delete(uid);
        else fresh.set(uid, event.object);
      }
      // Until the list is complete, a pod that is missing in it may still exist.
      if (isComplete) known.clear();
      for (const [uid, pod] of fresh) known.set(uid, pod);
      if (isComplete) wanted.set(new Map(known));
    }
  }
}

async function syncPods(
  ports: KubeletPorts,
  api: ApiServer,
  wanted: LatestCell<ReadonlyMap<string, Pod>>,
  shutdown: AbortSignal,
): Promise<void> {
  for (let seen = 0; ; seen = await nextSync(ports, wanted, seen, shutdown)) {
    for (const pod of wanted.value.values()) {
      if (pod.metadata?.deletionTimestamp === undefined) await syncRunning(ports, pod, shutdown);
      else await end(ports, api, pod, shutdown);
    }
    if (wanted.version > 0) await sweep(ports, wanted.value, shutdown);
  }
}

async function nextSync(
  { clock }: KubeletPorts,
  wanted: LatestCell<ReadonlyMap<string, Pod>>,
  seen: number,
  shutdown: AbortSignal,
): Promise<number> {
  const wait = new AbortController();
  const cancel = clock.after(SYNC_EVERY_MS, () => wait.abort());
  const onShutdown = () => wait.abort();
  shutdown.addEventListener("abort", onShutdown, { once: true });
  try {
    return await wanted.changed(seen, wait.signal);
  } catch {
    shutdown.throwIfAborted();
    return wanted.version;
  } finally {
    cancel();
    shutdown.removeEventListener("abort", onShutdown);
  }
}

async function syncRunning({ runtime }: KubeletPorts, pod: Pod, shutdown: AbortSignal): Promise<void> {
  const uid = pod.metadata?.uid ?? "";
  const labels = { uid };
  const sandboxes = await runtime.listSandboxes({ labels }, shutdown);
  const ready = sandboxes.find(({ state }) => state === "ready");
  const config: SandboxConfig = {
    metadata: {
      name: pod.metadata?.name ?? "",
      namespace: pod.metadata?.namespace ?? "",
      uid,
      attempt: sandboxes.length,
    },
    labels,
    logDirectory: `/var/log/pods/${uid}`,
    cgroupParent: `/kubepods/pod${uid}`,
  };
  const sandboxId = ready?.id ?? (await runtime.runSandbox(config, "", shutdown));
  const containers = await runtime.listContainers({ labels }, shutdown);
  if (containers.some(({ state, sandboxId: of }) => state === "running" && of === sandboxId)) return;
  const created = containers.find(({ state, sandboxId: of }) => state === "created" && of === sandboxId);
  const [spec] = pod.spec?.containers ?? [];
  const attempt = containers.reduce((max, { metadata }) => Math.max(max, metadata.attempt + 1), 0);
  const container = {
    metadata: { name: spec?.name ?? "", attempt },
    image: { image: spec?.image ?? "" },
    ...(spec?.command && { command: spec.command }),
    labels,
    logPath: `${attempt}.log`,
  };
  const id = created?.id ?? (await runtime.createContainer(sandboxId, container, config, shutdown));
  await runtime.startContainer(id, shutdown);
}

async function end(ports: KubeletPorts, api: ApiServer, pod: Pod, shutdown: AbortSignal): Promise<void> {
  const { name = "", namespace = "", uid = "", deletionGracePeriodSeconds = 30 } = pod.metadata ?? {};
  await removeAll(ports, uid, deletionGracePeriodSeconds, shutdown);
  const options = { gracePeriodSeconds: 0, preconditions: { uid } };
  await api.delete(pods, { namespace, name }, options, shutdown).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

async function removeAll({ runtime }: KubeletPorts, uid: string, graceSeconds: number, shutdown: AbortSignal) {
  for (const { id } of await runtime.listContainers({ labels: { uid }, state: "running" }, shutdown))
    await runtime.stopContainer(id, graceSeconds, shutdown);
  for (const { id } of await runtime.listSandboxes({ labels: { uid } }, shutdown)) {
    await runtime.stopSandbox(id, shutdown);
    await runtime.removeSandbox(id, shutdown);
  }
}

/** Removes the sandboxes of pods that no longer exist. */
async function sweep(ports: KubeletPorts, wanted: ReadonlyMap<string, Pod>, shutdown: AbortSignal): Promise<void> {
  for (const { labels } of await ports.runtime.listSandboxes({}, shutdown)) {
    const uid = labels["uid"] ?? "";
    if (!wanted.has(uid)) await removeAll(ports, uid, 1, shutdown);
  }
}
