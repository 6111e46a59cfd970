import assert from "node:assert/strict";
import { test } from "node:test";
import { anImage, type ImageWorld, imageWorld } from "../../../test/support/image-world.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";

const kinds = (world: ImageWorld) => world.calls.map(({ image }) => image);
/** Performs an act and lets the pending work settle. */
const after = async (world: ImageWorld, act: () => void) => {
  act();
  await world.clock.advance(0);
};

test("[9.1][9.2] a pull is under way until it succeeds; its result is returned once, and Always pulls again", async () => {
  const world = imageWorld();
  const { ensure, calls, reported, clock, settled } = world;
  assert.equal((await ensure()).kind, "underWay");
  assert.deepEqual(reported.splice(0), ['app: Normal Pulling: Pulling image "busybox"']);
  await clock.advance(1_500);
  assert.equal((await ensure()).kind, "underWay");
  await after(world, () => calls[0]?.succeed());
  assert.deepEqual(settled, ["u1/app"]);
  assert.deepEqual(reported, [
    'app: Normal Pulled: Successfully pulled image "busybox" in 1.5s (1.5s including waiting). Image size: 7 bytes.',
  ]);
  const image = anImage("busybox:latest");
  assert.deepEqual(await ensure(), { kind: "present", ref: image.id, image });
  assert.deepEqual([kinds(world), world.pullsUnderWay.size], [["busybox:latest"], 0]);
  assert.equal((await ensure()).kind, "underWay");
  assert.equal(calls.length, 2);
  await world.finish();
  assert.equal(calls[1]?.signal.aborted, true);
  assert.equal(clock.timersPending, 0);
});

test("[9.1] a present image is used without a pull, Never does not pull, and an invalid or uninspectable image is refused", async () => {
  const world = imageWorld();
  const { ensure, reported, inspection } = world;
  world.present.add("there:1");
  const image = anImage("there:1");
  const used = { kind: "present", ref: image.id, image };
  for (const policy of ["IfNotPresent", "Never"]) assert.deepEqual(await ensure({ image: "there:1", policy }), used);
  const present =
    'app: Normal Pulled: Container image "there:1" already present on machine and can be accessed by the pod';
  assert.deepEqual(reported.splice(0), [present, present]);
  const never = await ensure({ image: "gone", policy: "Never" });
  const message = 'Container image "gone" is not present with pull policy of Never';
  assert.deepEqual(never, { kind: "refused", reason: "ErrImageNeverPull", message, retryMs: undefined });
  const unnamed = await ensure({ image: "No Name" });
  assert.equal(unnamed.kind === "refused" && unnamed.reason, "InvalidImageName");
  inspection.refuses = new RuntimeError("ImageStatus", "unknown", "not today");
  const unseen = await ensure({ image: "gone", policy: "IfNotPresent" });
  assert.equal(unseen.kind === "refused" && unseen.reason, "ImageInspectError");
  assert.deepEqual(reported, [
    `app: Warning ErrImageNeverPull: ${message}`,
    `app: Warning InspectFailed: Failed to apply default image tag "No Name": couldn't parse image name "No Name": invalid reference format: repository name (library/No Name) must be lowercase`,
    'app: Warning InspectFailed: Failed to inspect image "": rpc error: code = Unknown desc = not today',
  ]);
  assert.equal(world.calls.length, 0);
  await world.finish();
});

test("[9.3] a failed pull is reported, backs off with its error and the time of the next try, and is retried", async () => {
  const world = imageWorld();
  const { ensure, calls, reported, clock } = world;
  await ensure();
  await after(world, () => calls[0]?.fail("gone", "notFound"));
  const error = "rpc error: code = NotFound desc = gone";
  assert.equal(reported.at(-1), `app: Warning Failed: Failed to pull image "busybox": ${error}`);
  assert.deepEqual(await ensure(), { kind: "refused", reason: "ErrImagePull", message: error, retryMs: 1_000 });
  await clock.advance(1_000);
  assert.deepEqual(await ensure(), {
    kind: "refused",
    reason: "ImagePullBackOff",
    message: `Back-off pulling image "busybox": ErrImagePull: ${error}; next try at 1970-01-01T00:00:10Z`,
    retryMs: 9_000,
  });
  assert.equal(reported.at(-1), 'app: Normal BackOff: Back-off pulling image "busybox"');
  await clock.advance(9_000);
  const again = await ensure();
  assert.deepEqual(again.kind === "underWay" && again.progress.lastFailure, { reason: "ErrImagePull", message: error });
  await after(world, () => calls[1]?.fail("RegistryUnavailable: down"));
  const down = await ensure();
  assert.equal(down.kind === "refused" && down.reason, "RegistryUnavailable");
  await clock.advance(1_000);
  const refused = await ensure();
  assert.equal(refused.kind === "refused" && refused.retryMs, 19_000);
  assert.equal((await ensure({ image: "other" })).kind, "underWay", "another image is not in back-off");
  await world.finish();
});

test("[9.3] IfNotPresent uses an image that appears during back-off; Always stays in back-off", async () => {
  const world = imageWorld();
  await world.ensure({ policy: "IfNotPresent" });
  await after(world, () => world.calls[0]?.fail("down"));
  await world.ensure({ policy: "IfNotPresent" });
  world.present.add("busybox:latest");
  assert.equal((await world.ensure({ policy: "IfNotPresent" })).kind, "present");
  assert.equal((await world.ensure({ policy: "Always" })).kind, "refused");
  await world.finish();
});

test("[9.4] five pulls run in parallel: a slow one does not block the others, and queued ones report their position", async () => {
  const world = imageWorld({ most: 5 });
  const { ensure, calls, clock } = world;
  const names = ["slow", ...Array.from({ length: 7 }, (_, index) => `small-${index}`)];
  const answers = await Promise.all(names.map((image, index) => ensure({ image, uid: `u${index}` })));
  assert.equal(calls.length, 5);
  assert.deepEqual(
    answers.map((answer) => answer.kind === "underWay" && answer.progress.kind),
    [...Array.from({ length: 5 }, () => "pulling"), ...Array.from({ length: 3 }, () => "queued")],
  );
  assert.deepEqual(world.pullsUnderWay.get("u7/app"), {
    kind: "queued",
    position: 3,
    sinceMonotonicMs: 0,
    lastFailure: undefined,
  });
  for (let done = 1; done < names.length; done += 1) await after(world, () => calls[done]?.succeed());
  assert.equal(calls.length, names.length);
  assert.equal(world.settled.length, 7);
  await clock.advance(60_000);
  await after(world, () => calls[0]?.succeed());
  assert.equal((await ensure({ image: "slow", uid: "u0" })).kind, "present");
  await world.finish();
});

test("[9.4] a limit of 1 pulls serially; a pull over the rate fails with pull QPS exceeded", async () => {
  const serial = imageWorld({ most: 1 });
  for (const uid of ["u1", "u2", "u3"]) await serial.ensure({ image: uid, uid });
  assert.deepEqual(kinds(serial), ["u1:latest"]);
  await after(serial, () => serial.calls[0]?.succeed());
  assert.deepEqual(kinds(serial), ["u1:latest", "u2:latest"]);
  await serial.finish();
  const world = imageWorld({ most: Number.POSITIVE_INFINITY, perSecond: 1, burst: 2 });
  for (const uid of ["u1", "u2", "u3"]) await world.ensure({ image: uid, uid });
  await world.clock.advance(0);
  assert.equal(world.calls.length, 2);
  const third = await world.ensure({ image: "u3", uid: "u3" });
  assert.ok(third.kind === "refused");
  assert.deepEqual([third.reason, third.message], ["ErrImagePull", "pull QPS exceeded"]);
  await world.finish();
});

test("requests for the same image with the same credentials share one pull, and each is reported", async () => {
  const world = imageWorld();
  const { ensure, calls, clock, reported } = world;
  await ensure({ uid: "u1" });
  await clock.advance(2_000);
  await ensure({ uid: "u2", requester: "other" });
  world.setSecret("s", "1", { "docker.io": { username: "u", password: "p" } });
  await ensure({ uid: "u3", spec: { imagePullSecrets: [{ name: "s" }] } });
  assert.equal(calls.length, 2);
  await clock.advance(1_000);
  await after(world, () => calls[0]?.succeed());
  assert.deepEqual(world.settled, ["u1/app", "u2/other"]);
  assert.match(reported.at(-2) ?? "", /in 3s \(3s including waiting\)/);
  assert.match(reported.at(-1) ?? "", /in 1s \(1s including waiting\)/);
  assert.deepEqual(
    [(await ensure({ uid: "u1" })).kind, (await ensure({ uid: "u2", requester: "other" })).kind],
    ["present", "present"],
  );
  await world.finish();
});

test("a failed pull that two containers of a pod share counts as one failure in the pod's back-off", async () => {
  const world = imageWorld();
  for (const requester of ["a", "b"]) await world.ensure({ requester });
  assert.equal(world.calls.length, 1);
  await after(world, () => world.calls[0]?.fail("down"));
  for (const requester of ["a", "b"]) await world.ensure({ requester });
  await world.clock.advance(1_000);
  const refused = await world.ensure({ requester: "c" });
  assert.deepEqual(
    [refused.kind === "refused" && refused.reason, refused.kind === "refused" && refused.retryMs],
    ["ImagePullBackOff", 9_000],
  );
  await world.finish();
});

test("a pull is aborted when its last requester gives up or requests another image", async () => {
  const world = imageWorld();
  const { ensure, calls, pulls, pullsUnderWay } = world;
  await ensure({ uid: "u1" });
  await ensure({ uid: "u2" });
  pulls.forget("u1");
  assert.equal(calls[0]?.signal.aborted, false);
  pulls.forget("u2");
  assert.equal(calls[0]?.signal.aborted, true);
  assert.equal(pullsUnderWay.size, 0);
  await ensure({ uid: "u3", image: "old" });
  await ensure({ uid: "u3", image: "new" });
  assert.deepEqual([calls[1]?.signal.aborted, calls[2]?.image], [true, "new:latest"]);
  await after(world, () => calls[2]?.succeed());
  assert.equal((await ensure({ uid: "u3", image: "new" })).kind, "present");
  await world.finish();
});

test("[9.5] matching credentials are tried in turn without an anonymous attempt; all errors are reported", async () => {
  const world = imageWorld();
  const { ensure, calls, reported } = world;
  world.setSecret("s1", "1", { "docker.io": { username: "short" }, "docker.io/library/busybox": { username: "long" } });
  world.setSecret("s2", "1", { "gcr.io": { username: "other" } });
  const spec = { imagePullSecrets: [{ name: "s2" }, { name: "" }, { name: "s1" }] };
  await ensure({ spec });
  await after(world, () => calls[0]?.fail("401"));
  await after(world, () => calls[1]?.fail("403"));
  assert.deepEqual(
    calls.map(({ credentials }) => credentials?.username),
    ["long", "short"],
  );
  assert.equal(reported.at(-1), 'app: Warning Failed: Failed to pull image "busybox": [401, 403]');
  await ensure({ spec, image: "quay.io/x" });
  assert.equal(calls[2]?.credentials, undefined);
  world.setSecret("s1", "2", { "docker.io": { auth: "?" } });
  const spoiled = await ensure({ spec, image: "quay.io/y" });
  assert.equal(spoiled.kind === "refused" && spoiled.reason, "illegal base64 data at input byte 0");
  await world.finish();
});

test("[9.5] a missing pull Secret is reported and the pull is tried without it, and again as soon as the Secret appears", async () => {
  const world = imageWorld();
  const { ensure, calls, reported, clock, settled } = world;
  const spec = { imagePullSecrets: [{ name: "s" }, { name: "t" }] };
  world.setMissing("s");
  const asked = ensure({ spec });
  await clock.advance(1_000);
  assert.equal((await asked).kind, "underWay");
  const missing =
    "Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (s, t); attempting to pull the image may not succeed.";
  assert.deepEqual(reported, [missing, 'app: Normal Pulling: Pulling image "busybox"']);
  world.setMissing("t");
  await after(world, () => calls[0]?.fail("401 Unauthorized"));
  await ensure({ spec });
  await clock.advance(1_000);
  settled.length = 0;
  const refused = await ensure({ spec });
  assert.match((refused.kind === "refused" && refused.message) || "", /ErrImagePull: 401 Unauthorized/);
  world.setMissing("s");
  assert.deepEqual(settled, [], "a Secret that is still missing causes no new attempt");
  world.setSecret("s", "1", { "docker.io": { username: "u" } });
  assert.deepEqual(settled, ["u1/app"]);
  assert.equal((await ensure({ spec })).kind, "underWay");
  assert.equal(calls[1]?.credentials?.username, "u");
  await after(world, () => calls[1]?.fail("down"));
  await clock.advance(1_000);
  await ensure({ spec });
  const restarted = await ensure({ spec });
  assert.equal(restarted.kind === "refused" && restarted.retryMs, 9_000, "other credentials restart the back-off");
  await world.finish();
  assert.equal(clock.timersPending, 0);
});

test("a pull waits for a Secret that is not read yet, until it is read or the request is aborted", async () => {
  const world = imageWorld();
  const asked = world.ensure({ spec: { imagePullSecrets: [{ name: "s" }] } });
  await world.clock.advance(100);
  world.setSecret("s", "1", { "docker.io": { username: "u" } });
  assert.equal((await asked).kind, "underWay");
  assert.equal(world.calls[0]?.credentials?.username, "u");
  assert.equal(world.clock.timersPending, 0);
  const end = new AbortController();
  const given = world.ensure({ uid: "u2", spec: { imagePullSecrets: [{ name: "t" }] }, signal: end.signal });
  const refused = assert.rejects(given, /given up/);
  end.abort(new Error("given up"));
  await refused;
  assert.equal(world.clock.timersPending, 0);
  await world.finish();
});

test("[9.10] a registry counts as unreachable from a pull that could not reach it until one that could", async () => {
  const world = imageWorld();
  const { ensure, calls, clock, unreachableRegistries } = world;
  await ensure({ image: "r.example:5000/a:1" });
  await ensure({ image: "busybox", requester: "other" });
  await after(world, () => {
    calls[0]?.fail("failed to do request: dial tcp 198.18.0.1:5000: connect: connection refused");
    calls[1]?.fail("docker.io/library/busybox:latest: not found");
  });
  assert.deepEqual([...unreachableRegistries.value], ["r.example:5000"]);
  await clock.advance(60_000);
  await ensure({ image: "r.example:5000/b:1", requester: "third" });
  await after(world, () => calls[2]?.succeed());
  assert.deepEqual([...unreachableRegistries.value], []);
  await world.finish();
});
