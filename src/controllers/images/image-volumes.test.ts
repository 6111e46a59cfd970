import assert from "node:assert/strict";
import { test } from "node:test";
import { imageWorld } from "../../../test/support/image-world.ts";
import { container } from "../../../test/support/pods.ts";
import { mountableImages, type PresentImage } from "../../domain/images/image-answer.ts";
import { ensureImageVolumes } from "./image-volumes.ts";

const mounts = (...names: readonly string[]) =>
  container("app", { volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) });
const SANDBOX = { metadata: { name: "p", namespace: "default", uid: "u1", attempt: 0 } };

test("[9.12] image volumes are pulled for the pod; a container waits for, and fails with, only those it mounts", async () => {
  const world = imageWorld();
  const { calls, reported, clock, pulls, podOf } = world;
  const pod = podOf({
    spec: {
      volumes: [
        { name: "data", image: { reference: "data:1", pullPolicy: "IfNotPresent" } },
        { name: "scratch", emptyDir: {} },
        { name: "model", image: { reference: "model" } },
      ],
    },
  });
  const events = {
    emit: (_: unknown, type: string, reason: string, message: string) =>
      void reported.push(`${type} ${reason}: ${message}`),
  };
  const known = new Map<string, PresentImage>();
  const ensure = () => ensureImageVolumes(pod, SANDBOX, { pulls, events }, known, new AbortController().signal);
  const first = await ensure();
  assert.deepEqual([...first.keys()], ["data", "model"]);
  assert.deepEqual(
    calls.map(({ image }) => image),
    ["data:1", "model:latest"],
  );
  assert.deepEqual(reported.splice(0), [
    'Normal Pulling: Pulling image "data:1"',
    'Normal Pulling: Pulling image "model"',
  ]);
  const ofContainer = (answers: typeof first, ...names: readonly string[]) =>
    mountableImages(pod, mounts(...names), answers);
  assert.equal(ofContainer(first, "data", "scratch").kind, "underWay");
  assert.deepEqual(ofContainer(first, "scratch"), { kind: "ready", specs: new Map() });
  calls[0]?.succeed();
  calls[1]?.fail("down");
  await clock.advance(0);
  const second = await ensure();
  const spec = { image: "id of data:1", userSpecifiedImage: "data:1", annotations: {} };
  assert.deepEqual(ofContainer(second, "data"), { kind: "ready", specs: new Map([["data", spec]]) });
  const refused = ofContainer(second, "model", "data");
  assert.ok(refused.kind === "refused");
  assert.deepEqual([refused.last.reason, refused.last.message, refused.all.length], ["ErrImagePull", "down", 1]);
  const third = await ensure();
  assert.equal(third.get("data")?.kind, "present", "what is there is not pulled again");
  assert.equal(calls.length, 2);
  await world.finish();
});
