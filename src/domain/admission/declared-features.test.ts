import assert from "node:assert/strict";
import { test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import type { Container, PodSpec } from "../../api/gen/core-v1.ts";
import { undeclaredByChange } from "./declared-features.ts";

test("[5.10] a resize that needs undeclared node features is reported with all of them; other resizes are not", () => {
  const sized = (cpu: string, more: Partial<Container> = {}) =>
    container("i", { resources: { requests: { cpu } }, ...more });
  const change = (before: Partial<PodSpec>, after: Partial<PodSpec>, declared: readonly string[] = []) =>
    undeclaredByChange(pod(before), pod(after), declared);
  const reported = (...names: readonly string[]) =>
    `Pod requires node features that are not available: ${names.join(", ")}`;
  const [whole, init] = ["InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"];
  assert.equal(change({}, { resources: { requests: { cpu: "1" } } }), reported(whole));
  assert.equal(change({}, { resources: {} }), undefined);
  assert.equal(change({ initContainers: [sized("1")] }, { initContainers: [sized("2")] }), reported(init));
  const sidecar = { restartPolicy: "Always" } as const;
  assert.equal(change({ initContainers: [sized("1", sidecar)] }, { initContainers: [sized("2", sidecar)] }), undefined);
  const both = [
    { initContainers: [sized("1")] },
    { initContainers: [sized("2")], resources: { limits: { cpu: "2" } } },
  ] as const;
  assert.equal(change(...both), reported(whole, init));
  assert.equal(change(...both, [init]), reported(whole));
  assert.equal(undeclaredByChange(pod(both[0]), pod(both[1]), undefined), undefined);
  assert.equal(change({ containers: [sized("1")] }, { containers: [sized("2")] }), undefined);
});
