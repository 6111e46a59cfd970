import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import type { DesiredPod, DesiredPods } from "../../domain/pod/desired-pod.ts";
import { CONFIG_HASH, CONFIG_MIRROR } from "../../domain/pod/pod-identity.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import { ApiError, ApiUnreachableError } from "../../ports/api-error.ts";
import type { ApiObject, DeleteOptions, ObjectName, Resource } from "../../ports/api-server.ts";
import { runMirrorPods } from "./mirror-pods.ts";

const node: OwnNode = { kind: "present", node: { metadata: { name: "n1", uid: "node-uid" } } };

const staticPod = (name: string, hash: string): DesiredPod => {
  const pod: Pod = { metadata: { name, namespace: "ns", uid: hash, annotations: { [CONFIG_HASH]: hash } } };
  return { uid: hash, source: "file", pod, given: pod, firstSeenWallMs: 0 };
};

/** An API server that keeps mirror pods by name; the test decides when the watch delivers them. */
class MirrorServer {
  readonly calls: string[] = [];
  readonly pods = new Map<string, Pod>();
  trouble: ((call: string) => Error | undefined) | undefined;
  #made = 0;

  async create<T extends ApiObject>(_resource: Resource<T>, object: T): Promise<T> {
    const name = object.metadata?.name ?? "";
    await this.#call(`create ${name}`);
    if (this.pods.has(name)) throw new ApiError("POST", 409, "AlreadyExists", name);
    this.#made += 1;
    const pod = object as unknown as Pod;
    this.pods.set(name, { ...pod, metadata: { ...pod.metadata, uid: `mirror-${this.#made}` } });
    return object;
  }

  async delete(_resource: Resource<ApiObject>, { name }: ObjectName, options: DeleteOptions): Promise<void> {
    await this.#call(`delete ${name} ${options.preconditions?.uid} grace ${options.gracePeriodSeconds}`);
    if (this.pods.get(name)?.metadata?.uid !== options.preconditions?.uid)
      throw new ApiError("DELETE", 409, "Conflict", name);
    this.pods.delete(name);
  }

  async #call(call: string): Promise<void> {
    this.calls.push(call);
    const trouble = this.trouble?.(call);
    if (trouble !== undefined) throw trouble;
    await Promise.resolve();
  }
}

function start(pods: readonly DesiredPod[], of: OwnNode = node, trouble?: (call: string) => Error | undefined) {
  const clock = new ManualClock();
  const api = new MirrorServer();
  api.trouble = trouble;
  const view = (mirrors: readonly Pod[], wanted = pods): DesiredPods => ({
    pods: new Map(wanted.map((pod) => [pod.uid, pod])),
    mirrors: new Map(mirrors.map((mirror) => [`${mirror.metadata?.name}_ns`, mirror])),
    mirrorsSeen: true,
    sourcesReady: true,
  });
  const desiredPods = new LatestCell(view([]));
  const ownNode = new LatestCell<OwnNode>(of);
  const listedSandboxes = new LatestCell<readonly Sandbox[] | undefined>([]);
  const podRuntimeStatus = new LatestTable<string, PodRuntimeView>();
  const stop = new AbortController();
  const random = { fraction: () => 0.5, uuid: () => "" };
  const cells = { desiredPods, ownNode, listedSandboxes, podRuntimeStatus };
  const ended = runMirrorPods({ api, clock, random, log: keptLog(), ...cells }, stop.signal);
  /** Acts like the watch: brings the server's state to the node. */
  const show = async (wanted = pods) => {
    desiredPods.set(view([...api.pods.values()], wanted));
    await clock.advance(0);
  };
  return { clock, api, ...cells, stop, ended, show };
}

test("[4.8] a static pod's mirror pod is created once, and nothing more is sent before or after the watch shows it", async () => {
  const { clock, api, show } = start([staticPod("a", "h1"), staticPod("b", "h2")]);
  await clock.advance(5000);
  assert.deepEqual(api.calls, ["create a", "create b"]);
  await show();
  await clock.advance(600_000);
  assert.deepEqual(api.calls.length, 2);
  assert.equal(api.pods.get("a")?.metadata?.annotations?.[CONFIG_MIRROR], "h1");
});

test("[4.8] a deleted mirror pod is created again", async () => {
  const { clock, api, show } = start([staticPod("a", "h1")]);
  await clock.advance(0);
  await show();
  api.pods.clear();
  await show();
  assert.deepEqual(api.calls, ["create a", "create a"]);
});

test("[4.8] [27.4.4] a changed static pod's mirror pod is deleted by UID with grace period 0, then created again", async () => {
  const { clock, api, show } = start([staticPod("a", "h1")]);
  await clock.advance(0);
  await show();
  const changed = [staticPod("a", "h2")];
  await show(changed);
  await show(changed);
  await show(changed);
  assert.deepEqual(api.calls, ["create a", "delete a mirror-1 grace 0", "create a"]);
  assert.equal(api.pods.get("a")?.metadata?.annotations?.[CONFIG_MIRROR], "h2");
});

test("[4.10] mirror pods are created as soon as the Node is known", async () => {
  const { clock, api, ownNode } = start([staticPod("a", "h1")], { kind: "unknown" });
  await clock.advance(60_000);
  assert.deepEqual(api.calls, []);
  ownNode.set(node);
  await clock.advance(0);
  assert.deepEqual(api.calls, ["create a"]);
});

const runtimeView = (uid: string, state: "ready" | "notReady"): PodRuntimeView => {
  const metadata = { name: "a", namespace: "ns", uid, attempt: 0 };
  const common = { createdWallNs: 1n, labels: {}, annotations: {}, runtimeHandler: "", ips: [] };
  return { uid, sandboxes: [{ id: "s", metadata, state, ...common }], containers: [] };
};

test("[4.8] the mirror pod of a removed static pod is deleted when the runtime reports the pod's end, not before", async () => {
  const { clock, api, show, podRuntimeStatus } = start([staticPod("a", "h1")]);
  await clock.advance(0);
  podRuntimeStatus.set("h1", runtimeView("h1", "ready"));
  await show([]);
  await clock.advance(60_000);
  assert.deepEqual(api.calls, ["create a"]);
  podRuntimeStatus.set("h1", runtimeView("h1", "notReady"));
  await clock.advance(0);
  assert.deepEqual(api.calls, ["create a", "delete a mirror-1 grace 0"]);
});

test("[4.8] the mirror pod of an edited static pod is replaced when the earlier pod has terminated", async () => {
  const { clock, api, show, podRuntimeStatus } = start([staticPod("a", "h1")]);
  const changed = [staticPod("a", "h2")];
  await clock.advance(0);
  podRuntimeStatus.set("h1", runtimeView("h1", "ready"));
  await show(changed);
  await clock.advance(60_000);
  assert.deepEqual(api.calls, ["create a"]);
  podRuntimeStatus.delete("h1");
  await clock.advance(0);
  await show(changed);
  assert.deepEqual(api.calls, ["create a", "delete a mirror-1 grace 0", "create a"]);
});

test("[4.8] an orphaned mirror pod is deleted after the runtime's first list, and only once", async () => {
  const { clock, api, show, listedSandboxes } = start([staticPod("a", "h1")]);
  listedSandboxes.set(undefined);
  await clock.advance(0);
  await show([]);
  await clock.advance(60_000);
  assert.deepEqual(api.calls, ["create a"]);
  listedSandboxes.set([]);
  await clock.advance(5_000);
  assert.deepEqual(api.calls, ["create a", "delete a mirror-1 grace 0"]);
});

test("a failed create is retried with growing waits and does not delay the others", async () => {
  const down = (call: string) => (call === "create a" ? new ApiUnreachableError("POST", "reset", false) : undefined);
  const { clock, api } = start([staticPod("a", "h1"), staticPod("b", "h2")], node, down);
  await clock.advance(499);
  assert.deepEqual(api.calls, ["create a", "create b"]);
  await clock.advance(1);
  assert.equal(api.calls.length, 3);
  await clock.advance(3000);
  assert.deepEqual(api.calls.filter((call) => call === "create a").length, 4);
});

test("a mirror pod that the watch does not show within ten seconds is created again", async () => {
  const { clock, api } = start([staticPod("a", "h1")]);
  await clock.advance(0);
  api.pods.clear();
  await clock.advance(10_000);
  assert.deepEqual(api.calls, ["create a", "create a"]);
});

test("a mirror pod that another client creates after the deletion is not deleted", async () => {
  const { clock, api, show } = start([]);
  api.pods.set("a", { metadata: { name: "a", namespace: "ns", uid: "old", annotations: { [CONFIG_MIRROR]: "x" } } });
  await show();
  assert.deepEqual([api.calls, api.pods.size], [["delete a old grace 0"], 0]);
  api.pods.set("a", { metadata: { name: "a", namespace: "ns", uid: "new" } });
  await clock.advance(60_000);
  assert.equal(api.pods.get("a")?.metadata?.uid, "new");
});

test("the loop ends with its signal after its last call", async () => {
  const { clock, stop, ended } = start([staticPod("a", "h1")]);
  await clock.advance(0);
  stop.abort(new Error("shutdown"));
  await ended;
  assert.equal(clock.timersPending, 0);
});
