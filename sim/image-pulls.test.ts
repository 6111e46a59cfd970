/**
 * What pods observe of image pulls. Runs the real workers and pulls in virtual time, with a registry that is slow,
 * needs a login or is away.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec, Secret } from "../src/api/gen/core-v1.ts";
import { pods, secrets } from "../src/api/resources.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { keptKubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import type { Fault, PortCall } from "./port-calls.ts";
import { World } from "./world.ts";

const POD_KIND = kindOf(pods);
const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 100, code: 0 } } };
const command = [...scripted(server)];

function begin(...flags: readonly string[]) {
  const pulls: { readonly image: string; readonly atMs: number }[] = [];
  let patches = 0;
  const plan = (call: PortCall): Fault | undefined => {
    if (call.name === "PullImage") pulls.push({ image: call.target, atMs: world.clock.monotonicMs() });
    if (call.port === "api" && call.name === "patch") patches += 1;
    return undefined;
  };
  const world: World = new World({ seed: 1, plan, latencyMs: () => 2 });
  const node = world.addNode("n1");
  for (const name of ["slow", "small", "other", "guarded.example/app:1"]) world.registry.add(name);
  const { agent, newest } = keptKubelet(...flags);
  node.start(agent);
  const { find, create, eventsOf } = plainPods(world);
  return {
    world,
    node,
    agent,
    pulls,
    find,
    patches: () => patches,
    cells: () => newest().cells,
    waitingOf: (name: string, container = "app") =>
      find(name)?.status?.containerStatuses?.find((status) => status.name === container)?.state?.waiting,
    isRunning: (name: string) => find(name)?.status?.phase === "Running",
    create: (name: string, image: string, spec: Partial<PodSpec> = {}) =>
      create(name, { image, imagePullPolicy: "Always", command }, spec),
    eventsOf,
  };
}

test("[9.4] in strict mode pulls one image at a time where the configuration says nothing", async () => {
  const { world, create, isRunning } = begin();
  world.registry.pullMs = ({ path }) => (path.endsWith("slow") ? 60_000 : 400);
  create("slow", "slow");
  await world.advance(1_000);
  create("small", "small");
  await world.advance(55_000);
  assert.deepEqual([isRunning("slow"), isRunning("small")], [false, false]);
  await world.advance(10_000);
  assert.deepEqual([isRunning("slow"), isRunning("small")], [true, true]);
});

test("[9.4] in enhanced mode pulls ten small images while a slow pull takes a minute, never more than five in parallel", async () => {
  const { world, create, isRunning, find } = begin("--deckhand-compatibility=enhanced");
  let [now, most] = [0, 0];
  world.registry.pullMs = ({ path }) => (path.endsWith("slow") ? 60_000 : 400);
  const find0 = world.registry.find.bind(world.registry);
  world.registry.find = (name, credentials) => {
    const found = find0(name, credentials);
    now += 1;
    most = Math.max(most, now);
    if (found.kind === "image") world.clock.after(found.pullMs, () => (now -= 1));
    return found;
  };
  for (let index = 0; index < 10; index += 1) world.registry.add(`small-${index}`);
  create("slow", "slow");
  for (let index = 0; index < 10; index += 1) create(`small-${index}`, `small-${index}`);
  await world.advance(10_000);
  const running = Array.from({ length: 10 }, (_, index) => `small-${index}`).filter(isRunning);
  assert.equal(running.length, 10);
  assert.ok(!isRunning("slow") && most === 5, `${most} at once`);
  await world.advance(55_000);
  assert.ok(isRunning("slow"), JSON.stringify(find("slow")?.status));
});

test("[9.2] a pending pull does not block other containers of the pod; one pull leads to one start, with events in order", async () => {
  const { world, create, find, eventsOf, pulls } = begin("--deckhand-compatibility=enhanced");
  world.registry.pullMs = ({ path }) => (path.endsWith("slow") ? 20_000 : 100);
  create("two", "slow", {
    containers: [
      { name: "app", image: "slow", imagePullPolicy: "Always", command },
      { name: "side", image: "small", imagePullPolicy: "Always", command },
    ],
  });
  await world.advance(5_000);
  const stateOf = (name: string) => find("two")?.status?.containerStatuses?.find((one) => one.name === name)?.state;
  assert.ok(stateOf("side")?.running !== undefined && stateOf("app")?.waiting?.reason === "ContainerCreating");
  await world.advance(20_000);
  assert.ok(stateOf("app")?.running !== undefined);
  assert.deepEqual(
    pulls.map(({ image }) => image),
    ["slow:latest", "small:latest"],
  );
  const ofApp = (await eventsOf("two")).filter(({ involvedObject }) => involvedObject.fieldPath?.includes("{app}"));
  assert.deepEqual(
    ofApp.map(({ reason }) => reason),
    ["Pulling", "Pulled", "Created", "Started"],
  );
  assert.match(
    ofApp[1]?.message ?? "",
    /^Successfully pulled image "slow" in 20\.\d+s \(20\.\d+s including waiting\). Image size: 5000000 bytes.$/,
  );
});

test("[9.4] queued pulls report their position and long pulls their duration, with few status patches", async () => {
  const { world, create, waitingOf, patches } = begin("--serialize-image-pulls");
  world.registry.setBytesPerSecond(50_000);
  create("first", "slow");
  await world.advance(100);
  create("second", "small");
  await world.advance(7_000);
  assert.deepEqual(waitingOf("first"), { reason: "ContainerCreating", message: 'Pulling image "slow"' });
  const place = 'Image "small" waits to be pulled, number 1 in the queue';
  assert.deepEqual(waitingOf("second"), { reason: "ContainerCreating", message: place });
  const before = patches();
  await world.advance(60_000);
  assert.equal(waitingOf("first")?.message, 'Pulling image "slow" for 1m0s');
  assert.match(
    waitingOf("second")?.message ?? "",
    /^Image "small" waits for 1m0s to be pulled, number 1 in the queue$/,
  );
  assert.ok(patches() - before <= 14, `${patches() - before} patches, with those of the node`);
});

test("deleting a pod cancels its image pull within 2 s", async () => {
  const { world, node, create, find, cells } = begin();
  world.registry.pullMs = () => 600_000;
  create("gone", "slow");
  await world.advance(5_000);
  assert.equal(cells().pullsUnderWay.size, 1);
  world.api.writes.delete(POD_KIND, { namespace: "default", name: "gone" }, {}, ADMIN);
  await world.advance(2_000);
  assert.equal(cells().pullsUnderWay.size, 0);
  await world.advance(3_000);
  assert.equal(find("gone"), undefined);
  await world.advance(700_000);
  assert.equal(node.runtime.images.find("slow"), undefined, "the call was cut short");
});

test("[9.3] failed pulls retry after 10, 20 and 40 s; the registry's error stays in the status, and another image is pulled at once", async () => {
  const { world, create, waitingOf, eventsOf, pulls, isRunning } = begin();
  create("lost", "nowhere");
  await world.advance(900);
  assert.equal(waitingOf("lost")?.reason, "ErrImagePull");
  const error =
    'rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/nowhere:latest": failed to resolve reference "docker.io/library/nowhere:latest": docker.io/library/nowhere:latest: not found';
  assert.equal(waitingOf("lost")?.message, error);
  await world.advance(5_000);
  assert.equal(waitingOf("lost")?.reason, "ImagePullBackOff");
  assert.ok(
    waitingOf("lost")?.message?.startsWith(`Back-off pulling image "nowhere": ErrImagePull: ${error}; next try at `),
  );
  await world.advance(70_000);
  const waits = pulls.slice(1).map(({ atMs }, index) => Math.round((atMs - (pulls[index]?.atMs ?? 0)) / 1_000));
  assert.deepEqual(waits, [10, 20, 40]);
  const reported = new Set(
    (await eventsOf("lost")).map(({ type, reason, message }) => `${type} ${reason}: ${message}`),
  );
  for (const line of [
    `Warning Failed: Failed to pull image "nowhere": ${error}`,
    "Warning Failed: Error: ErrImagePull",
    'Normal BackOff: Back-off pulling image "nowhere"',
    "Warning Failed: Error: ImagePullBackOff",
  ])
    assert.ok(reported.has(line), `${line} is not among ${[...reported].join("\n")}`);
  const { signal } = new AbortController();
  const body = { spec: { containers: [{ name: "app", image: "small" }] } };
  await world.until(
    world.user.patch(pods, { namespace: "default", name: "lost" }, { kind: "strategic", body }, {}, signal),
  );
  await world.advance(2_000);
  assert.ok(isRunning("lost"));
});

test("[9.5] retries a failed pull within 2 s after its Secret is created", async () => {
  const { world, create, waitingOf, eventsOf, isRunning } = begin();
  world.registry.guard("guarded.example", "user", "word");
  create("guarded", "guarded.example/app:1", { imagePullSecrets: [{ name: "login" }] });
  await world.advance(15_000);
  assert.equal(waitingOf("guarded")?.reason, "ImagePullBackOff");
  assert.match(waitingOf("guarded")?.message ?? "", /pull access denied/);
  assert.ok((await eventsOf("guarded")).some(({ reason }) => reason === "FailedToRetrieveImagePullSecret"));
  const auths = { "guarded.example": { username: "user", password: "word" } };
  const data = { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") };
  const metadata = { name: "login", namespace: "default" };
  const secret: Secret = { metadata, type: "kubernetes.io/dockerconfigjson", data };
  world.api.writes.create(kindOf(secrets), secret, ADMIN);
  await world.advance(2_000);
  assert.ok(isRunning("guarded"), JSON.stringify(waitingOf("guarded")));
});

test("failure to create the log directory during an image pull causes a retry and does not end the agent", async () => {
  const { world, node, create, waitingOf, isRunning } = begin();
  node.files.faultFor = ({ operation, path }) =>
    operation === "makeDirectory" && path.endsWith("/app") ? { code: "readOnly", effect: "none" } : undefined;
  create("kept", "small");
  await world.advance(5_000);
  assert.match(waitingOf("kept")?.message ?? "", /readOnly/);
  node.files.faultFor = () => undefined;
  await world.advance(60_000);
  assert.ok(isRunning("kept"), JSON.stringify(waitingOf("kept")));
});

test("agent killed during a pull requests the image again after its restart, and the pod runs once", async () => {
  const { world, node, agent, create, isRunning, pulls } = begin();
  world.registry.pullMs = () => 30_000;
  create("kept", "slow");
  await world.advance(10_000);
  node.crash();
  await world.advance(5_000);
  node.start(agent);
  await world.advance(40_000);
  assert.ok(isRunning("kept"));
  assert.equal(pulls.length, 2);
  assert.equal([...node.runtime.containers.values()].length, 1);
});
