import assert from "node:assert/strict";
import { test } from "node:test";
import { decodePod, podListItems } from "./decode-pod.ts";

const manifest = (spec: unknown, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec,
  ...more,
});

test("unknown fields and nulls are dropped, required fields added, quantities made canonical", () => {
  const decoded = decodePod(
    manifest({
      containers: [{ image: "a", what: 1, env: null, resources: { limits: { memory: "1024Mi", cpu: 1.5 } } }],
      nodeSelector: { a: "b" },
      hostname: null,
    }),
  );
  assert.deepEqual(decoded, {
    kind: "ok",
    value: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: {
        containers: [{ name: "", image: "a", resources: { limits: { memory: "1Gi", cpu: "1500m" } } }],
        nodeSelector: { a: "b" },
      },
    },
  });
});

const refusals: readonly (readonly [string, unknown, RegExp])[] = [
  ["is a string", "hello", /not a Kubernetes object/],
  ["is a list", [], /not a Kubernetes object/],
  ["has no kind", { apiVersion: "v1" }, /'Kind' is missing/],
  ["has no apiVersion", { kind: "Pod" }, /'apiVersion' is missing/],
  ["is of another kind", { apiVersion: "apps/v1", kind: "Deployment" }, /a Deployment of apps\/v1 is not a Pod/],
  [
    "has a number instead of a string",
    manifest({ containers: [{ name: 1 }] }),
    /^spec\.containers\[0\]\.name: expected a string, got a number$/,
  ],
  [
    "has a boolean instead of a string",
    manifest({ containers: [{ env: [{ name: "A", value: true }] }] }),
    /env\[0\]\.value: expected a string/,
  ],
  [
    "has a string instead of a number",
    manifest({ terminationGracePeriodSeconds: "30" }),
    /expected an integer, got a string/,
  ],
  ["has a fraction instead of an integer", manifest({ terminationGracePeriodSeconds: 1.5 }), /expected an integer/],
  ["has a number out of range", manifest({ priority: 2 ** 31 }), /priority: 2147483648 is out of range/],
  ["has a map instead of a list", manifest({ containers: { a: 1 } }), /containers: expected a list/],
  ["has a list instead of a map", manifest({ nodeSelector: [] }), /nodeSelector: expected a map/],
  [
    "has an invalid quantity",
    manifest({ containers: [{ resources: { limits: { cpu: "much" } } }] }),
    /limits\[cpu\]: expected a quantity/,
  ],
];

for (const [name, value, reason] of refusals) {
  test(`a manifest that ${name} is refused with the reason`, () => {
    const decoded = decodePod(value);
    assert.equal(decoded.kind, "refused");
    assert.match(decoded.kind === "refused" ? decoded.reason : "", reason);
  });
}

test("the keys __proto__ and constructor are plain data", () => {
  const labels = JSON.parse('{"__proto__": "x", "constructor": "y"}') as unknown;
  const decoded = decodePod({ apiVersion: "v1", kind: "Pod", metadata: { name: "p", labels } });
  assert.equal(decoded.kind, "ok");
  const read = decoded.kind === "ok" ? (decoded.value.metadata?.labels ?? {}) : {};
  assert.deepEqual(Object.entries(read), [
    ["__proto__", "x"],
    ["constructor", "y"],
  ]);
});

test("a manifest nested 100 levels deep is refused", () => {
  let schema: unknown = {};
  for (let depth = 0; depth < 100; depth += 1) schema = [schema];
  assert.equal(decodePod(manifest({ containers: schema })).kind, "refused");
});

test("[4.6] the items of a PodList need no kind; other objects are not a pod list", () => {
  assert.deepEqual(podListItems({ apiVersion: "v1", kind: "PodList", items: [{ metadata: { name: "a" } }] }), [
    { metadata: { name: "a" }, kind: "Pod", apiVersion: "v1" },
  ]);
  assert.deepEqual(podListItems({ apiVersion: "v1", kind: "PodList" }), []);
  assert.equal(podListItems({ apiVersion: "v1", kind: "Pod" }), undefined);
  assert.equal(podListItems({ apiVersion: "v1", kind: "PodList", items: "x" }), undefined);
});
