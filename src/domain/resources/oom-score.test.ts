import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/gen/core-v1.ts";
import { isCriticalPod } from "../pod/pod-identity.ts";
import { KUBELET_OOM_SCORE_ADJ, oomScoreAdj } from "./oom-score.ts";

const CAPACITY = 1_000_000_000n;
const memory = (request: string) => ({ name: "a", resources: { requests: { memory: request } } });
const score = (request: string) => oomScoreAdj({ spec: { containers: [memory(request)] } }, memory(request), CAPACITY);

void test("[14.7] the score of a Burstable container is 1000 minus its share of memory, from 3 to 999", () => {
  assert.equal(score("100M"), 900);
  assert.equal(score("1"), 999);
  assert.equal(score("999M"), 3);
  assert.equal(score("2G"), 3);
  assert.equal(KUBELET_OOM_SCORE_ADJ, -999);
});

void test("[14.7] a sidecar scores at most as high as the smallest regular container of its pod", () => {
  const sidecar = { ...memory("10M"), name: "s", restartPolicy: "Always" };
  const spec = { containers: [memory("200M"), { ...memory("500M"), name: "b" }], initContainers: [sidecar] };
  assert.equal(oomScoreAdj({ spec }, sidecar, CAPACITY), 800);
  const plain = { ...sidecar, restartPolicy: "Never" };
  assert.equal(oomScoreAdj({ spec: { ...spec, initContainers: [plain] } }, plain, CAPACITY), 990);
});

void test("[14.7] a node-critical pod scores -997; the priority class name alone does not count", () => {
  const critical = (pod: Partial<Pod>): Pod => ({ ...pod, spec: { ...pod.spec, containers: [{ name: "a" }] } });
  const spec = { containers: [], priorityClassName: "system-node-critical", priority: 2_000_001_000 };
  assert.equal(oomScoreAdj(critical({ spec }), { name: "a" }, CAPACITY), -997);
  const named = { containers: [], priorityClassName: "system-node-critical" };
  assert.equal(oomScoreAdj(critical({ spec: named }), { name: "a" }, CAPACITY), 1000);
  const file = { annotations: { "kubernetes.io/config.source": "file" } };
  assert.equal(oomScoreAdj(critical({ spec: named, metadata: file }), { name: "a" }, CAPACITY), -997);
});

void test("critical pods are static pods, mirror pods and pods with a system priority", () => {
  const annotated = (key: string, value: string): Pod => ({ metadata: { annotations: { [key]: value } } });
  assert.equal(isCriticalPod(annotated("kubernetes.io/config.source", "api")), false);
  assert.equal(isCriticalPod(annotated("kubernetes.io/config.source", "http")), true);
  assert.equal(isCriticalPod(annotated("kubernetes.io/config.mirror", "x")), true);
  assert.equal(isCriticalPod({ spec: { containers: [], priority: 1_999_999_999 } }), false);
  assert.equal(isCriticalPod({ spec: { containers: [], priority: 2_000_000_000 } }), true);
});
