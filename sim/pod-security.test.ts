/**
 * Pod security and namespaces shared with the node: what pods request, and the result. Runs the real workers in virtual
 * time.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pods, runtimeClasses } from "../src/api/resources.ts";
import { keyOf } from "../test/integration/node-metrics/scrape.ts";
import { expositionText, readExposition } from "../test/support/exposition.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { keptKubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import type { FaultPlan } from "./port-calls.ts";
import { World } from "./world.ts";

const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };
const command = [...scripted(server)];

/** The RuntimeClasses cannot be listed. */
const withoutClasses =
  (isAway = () => true): FaultPlan =>
  ({ port, target }) =>
    isAway() && port === "api" && target.includes("runtimeclasses") ? { kind: "fail", effect: "none" } : undefined;

const ENHANCED = "--deckhand-compatibility=enhanced";

function begin(plan: FaultPlan = () => undefined, ...flags: readonly string[]) {
  const world = new World({ seed: 1, plan, latencyMs: () => 2 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  node.runtime.images.load("named", { image: { username: "www-data" } });
  const { agent, newest } = keptKubelet(...flags);
  node.start(agent);
  const counted = (name: string) => {
    const all = readExposition(expositionText(newest().metrics.registry.collect(), "text"));
    return Object.fromEntries((all.get(name)?.samples ?? []).map(({ labels, value }) => [keyOf(labels), value]));
  };
  const putClass = (name: string, handler: string) =>
    world.api.writes.create(kindOf(runtimeClasses), { metadata: { name }, handler }, ADMIN);
  return { world, node, agent, counted, putClass, ...plainPods(world) };
}

test("[25.2] runAsNonRoot container is not created if its user is root or not numeric, and reports why; one with a numeric runAsUser runs", async () => {
  const { world, node, find, create, eventsOf } = begin();
  const securityContext = { runAsNonRoot: true };
  create("root", { command }, { securityContext });
  create("named", { command, image: "named", securityContext });
  create("user", { command, image: "named", securityContext: { ...securityContext, runAsUser: 33 } });
  await world.advance(20_000);
  const { uid = "" } = find("root")?.metadata ?? {};
  const message = `container has runAsNonRoot and image will run as root (pod: "root_default(${uid})", container: app)`;
  assert.deepEqual(find("root")?.status?.containerStatuses?.[0]?.state?.waiting, {
    reason: "CreateContainerConfigError",
    message,
  });
  const reported = (await eventsOf("root")).filter(({ reason }) => reason === "Failed").map((event) => event.message);
  assert.deepEqual([...new Set(reported)], [`Error: ${message}`]);
  assert.match(
    find("named")?.status?.containerStatuses?.[0]?.state?.waiting?.message ?? "",
    /^container has runAsNonRoot and image has non-numeric user \(www-data\), cannot verify user is non-root/,
  );
  assert.equal(find("user")?.status?.phase, "Running");
  assert.equal(node.runtime.containers.size, 1);
});

test("[5.7] [25.9] sysctls of a pod reach its sandbox in dotted form; a sysctl that is not allowed rejects the pod", async () => {
  const { world, node, find, create, eventsOf } = begin();
  const asking = (name: string, value: string) => ({ securityContext: { sysctls: [{ name, value }] } });
  create("safe", { command }, asking("net/ipv4/ip_unprivileged_port_start", "80"));
  create("unsafe", { command }, asking("kernel.msgmax", "65536"));
  await world.advance(10_000);
  assert.equal(find("safe")?.status?.phase, "Running");
  const [sandbox] = node.runtime.sandboxes.values();
  assert.deepEqual(sandbox?.config.sysctls, { "net.ipv4.ip_unprivileged_port_start": "80" });
  assert.equal(node.runtime.sandboxes.size, 1);
  const { phase, reason, message } = find("unsafe")?.status ?? {};
  const why = 'forbidden sysctl: "kernel.msgmax" not allowlisted';
  assert.deepEqual([phase, reason, message], ["Failed", "SysctlForbidden", `Pod was rejected: ${why}`]);
  const reported = (await eventsOf("unsafe")).map((event) => [event.type, event.reason, event.message]);
  assert.deepEqual(reported, [["Warning", "SysctlForbidden", why]]);
});

test("[25.8] pod with a missing RuntimeClass reports it, and starts with the class's handler within 1 s of its creation", async () => {
  const { world, node, find, create, eventsOf, putClass } = begin();
  putClass("other", "");
  create("classy", { command }, { runtimeClassName: "slow" });
  await world.advance(60_000);
  assert.equal(find("classy")?.status?.phase, "Pending");
  const reported = (await eventsOf("classy")).filter(({ reason }) => reason === "FailedCreatePodSandBox");
  assert.deepEqual(
    [...new Set(reported.map(({ type, message }) => `${type} ${message}`))],
    ['Warning Failed to create pod sandbox: runtimeclass.node.k8s.io "slow" not found'],
  );
  assert.equal(node.runtime.sandboxes.size, 0);
  putClass("slow", "test-handler");
  await world.advance(1_000);
  assert.equal(find("classy")?.status?.phase, "Running");
  assert.deepEqual(
    [...node.runtime.sandboxes.values()].map(({ runtimeHandler }) => runtimeHandler),
    ["test-handler"],
  );
});

test("[25.8] in strict mode a pod waits 5 s for the list of RuntimeClasses without saying so, then its sandbox fails and is retried", async () => {
  let isAway = true;
  const { world, find, create, eventsOf, putClass } = begin(withoutClasses(() => isAway));
  putClass("slow", "test-handler");
  create("classy", { command }, { runtimeClassName: "slow" });
  await world.advance(4_500);
  assert.deepEqual([find("classy")?.status?.phase, find("classy")?.status?.reason], ["Pending", undefined]);
  assert.deepEqual(await eventsOf("classy"), []);
  await world.advance(2_000);
  assert.deepEqual(
    (await eventsOf("classy")).map(({ type, reason, message }) => [type, reason, message]),
    [["Warning", "FailedCreatePodSandBox", 'Failed to create pod sandbox: runtimeclass.node.k8s.io "slow" not found']],
  );
  isAway = false;
  await world.advance(60_000);
  assert.equal(find("classy")?.status?.phase, "Running");
});

test("[25.8] in enhanced mode, while RuntimeClasses cannot be listed, a pod with one waits with a reason and others run; the pod starts once the list succeeds", async () => {
  let isAway = true;
  const { world, node, agent, find, create, eventsOf, putClass } = begin(
    withoutClasses(() => isAway),
    ENHANCED,
  );
  putClass("slow", "test-handler");
  create("classy", { command }, { runtimeClassName: "slow" });
  create("plain", { command });
  await world.advance(5_000);
  assert.equal(find("plain")?.status?.phase, "Running");
  const waiting = find("classy")?.status;
  assert.deepEqual(
    [waiting?.phase, waiting?.reason, waiting?.message, waiting?.qosClass],
    ["Pending", "WaitingForRuntimeClass", "RuntimeClass slow: no list of them has come yet", "BestEffort"],
  );
  assert.deepEqual(
    (await eventsOf("classy")).map(({ type, reason, count }) => [type, reason, count]),
    [["Normal", "WaitingForRuntimeClass", 1]],
  );
  node.crash();
  node.start(agent);
  await world.advance(20_000);
  assert.equal(find("classy")?.status?.reason, "WaitingForRuntimeClass", "and the next agent says the same");
  isAway = false;
  await world.advance(60_000);
  const { phase, reason, message } = find("classy")?.status ?? {};
  assert.deepEqual([phase, reason, message], ["Running", undefined, undefined]);
});

test("[25.8] in strict mode a pod that waits for the list of RuntimeClasses fails at its deadline, and is removed at once when deleted", async () => {
  const { world, node, find, create } = begin(withoutClasses());
  create("timed", { command }, { runtimeClassName: "slow", activeDeadlineSeconds: 3 });
  create("deleted", { command }, { runtimeClassName: "slow" });
  await world.advance(1_000);
  world.api.writes.delete(kindOf(pods), { namespace: "default", name: "deleted" }, { gracePeriodSeconds: 5 }, ADMIN);
  await world.advance(1_000);
  assert.equal(find("deleted"), undefined);
  await world.advance(2_000);
  assert.deepEqual([find("timed")?.status?.phase, find("timed")?.status?.reason], ["Failed", "DeadlineExceeded"]);
  assert.equal(node.runtime.sandboxes.size, 0);
});

test("[25.8] in strict mode a pod keeps its volumes and starts again after a reboot that lost the journal, though its RuntimeClass is read later", async () => {
  const { world, node, agent, find, create, putClass } = begin();
  putClass("slow", "test-handler");
  create(
    "classy",
    { command, volumeMounts: [{ name: "data", mountPath: "/data" }] },
    { runtimeClassName: "slow", volumes: [{ name: "data", emptyDir: {} }] },
  );
  await world.advance(10_000);
  const { uid = "" } = find("classy")?.metadata ?? {};
  const file = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/data/kept`;
  await node.files.port.writeAtomically(file, new TextEncoder().encode("kept"), 0o600);
  node.crashMachine();
  const journal = "/var/lib/kubelet/deckhand/journal";
  for (const name of await node.files.port.list(journal)) await node.files.port.removeFile(`${journal}/${name}`);
  node.start(agent);
  await world.advance(60_000);
  assert.deepEqual([find("classy")?.metadata?.uid, find("classy")?.status?.phase], [uid, "Running"]);
  assert.equal(new TextDecoder().decode(await node.files.port.read(file, 100)), "kept");
});

test("[25.8] in strict mode a younger pod does not take the resources of a pod that waits for the list of RuntimeClasses", async () => {
  let isAway = true;
  const { world, find, create, putClass } = begin(withoutClasses(() => isAway));
  putClass("slow", "test-handler");
  const resources = { requests: { cpu: "3" } };
  create("older", { command, resources }, { runtimeClassName: "slow" });
  await world.advance(1_000);
  create("younger", { command, resources });
  await world.advance(1_000);
  assert.deepEqual([find("younger")?.status?.phase, find("younger")?.status?.reason], ["Failed", "OutOfcpu"]);
  isAway = false;
  await world.advance(60_000);
  assert.equal(find("older")?.status?.phase, "Running");
});

test("[25.8] in enhanced mode a pod that waits for its RuntimeClass fails at its deadline, and is removed at once when deleted", async () => {
  const { world, node, find, create } = begin(withoutClasses(), ENHANCED);
  create("timed", { command }, { runtimeClassName: "slow", activeDeadlineSeconds: 30 });
  create("deleted", { command }, { runtimeClassName: "slow" });
  await world.advance(20_000);
  assert.equal(find("deleted")?.status?.reason, "WaitingForRuntimeClass");
  world.api.writes.delete(kindOf(pods), { namespace: "default", name: "deleted" }, { gracePeriodSeconds: 5 }, ADMIN);
  await world.advance(3_000);
  assert.equal(find("deleted"), undefined);
  await world.advance(10_000);
  assert.deepEqual([find("timed")?.status?.phase, find("timed")?.status?.reason], ["Failed", "DeadlineExceeded"]);
  assert.equal(node.runtime.sandboxes.size, 0);
});

test("[25.7] each pod with a user namespace has its own ID range in its sandbox, containers and mounts until it is gone", async () => {
  const { world, node, agent, find, create, counted } = begin();
  const spec = { hostUsers: false };
  create("a", { command, terminationMessagePath: "/dev/termination-log" }, spec);
  create("b", { command }, spec);
  create("plain", { command });
  await world.advance(10_000);
  const rangeOf = (name: string) => {
    const sandbox = [...node.runtime.sandboxes.values()].find(({ config }) => config.metadata.name === name);
    return sandbox?.config.security?.namespaces?.user;
  };
  const first = rangeOf("a")?.uids[0]?.hostId ?? 0;
  const mapping = [{ hostId: first, containerId: 0, length: 65_536 }];
  assert.deepEqual(rangeOf("a"), { mode: "pod", uids: mapping, gids: mapping });
  assert.notEqual(rangeOf("b")?.uids[0]?.hostId, first);
  assert.deepEqual(rangeOf("plain"), { mode: "node", uids: [], gids: [] });
  const { uid = "" } = find("a")?.metadata ?? {};
  const container = [...node.runtime.containers.values()].find(
    ({ config }) => config.labels?.["io.kubernetes.pod.uid"] === uid,
  );
  assert.deepEqual(container?.config.security?.namespaces?.user, rangeOf("a"));
  const mounts = container?.config.mounts ?? [];
  assert.ok(mounts.length > 0 && mounts.every(({ uidMappings }) => uidMappings?.[0]?.hostId === first));
  const file = `/var/lib/kubelet/pods/${uid}/userns`;
  assert.ok((await node.files.port.facts(file)) !== undefined);
  assert.deepEqual(counted("kubelet_started_user_namespaced_pods_total"), { "": 2 });
  node.crash();
  node.start(agent);
  create("c", { command }, spec);
  await world.advance(10_000);
  assert.equal(new Set(["a", "b", "c"].map((name) => rangeOf(name)?.uids[0]?.hostId)).size, 3);
  world.api.writes.delete(kindOf(pods), { namespace: "default", name: "a" }, { gracePeriodSeconds: 1 }, ADMIN);
  await world.advance(10_000);
  assert.equal(await node.files.port.facts(file), undefined);
  create("d", { command }, spec);
  await world.advance(10_000);
  assert.equal(rangeOf("d")?.uids[0]?.hostId, first, "a range is reused once its pod has terminated");
});

test("[25.7] a handler without user namespaces is reported and counted", async () => {
  const { world, node, find, create, eventsOf, counted } = begin();
  node.runtime.knobs.userNamespaces = false;
  create("a", { command }, { hostUsers: false });
  await world.advance(5_000);
  assert.equal(find("a")?.status?.phase, "Pending");
  const reported = (await eventsOf("a")).filter(({ reason }) => reason === "FailedCreatePodSandBox");
  assert.equal(
    reported[0]?.message,
    "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
  );
  assert.equal(node.runtime.sandboxes.size, 0);
  assert.ok((counted("kubelet_started_user_namespaced_pods_errors_total")[""] ?? 0) >= 1);
});
