/** Whatever a manifest file contains, reading it yields pods or a reason, never an exception. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { podShapes } from "../../api/gen/pod-shapes.ts";
import { hostClock } from "../../wire/host/clock.ts";
import { MANIFEST_BYTES_MAX } from "../limits.ts";
import { readManifests } from "./manifests.ts";

const origin = { kind: "file", path: "/m/a.yaml" } as const;
const read = (bytes: Uint8Array) => readManifests(bytes, origin, "n1", { lists: true });
const readText = (text: string) => read(new TextEncoder().encode(text));

/** Names of real fields, so that random values reach deep into a pod. */
const fieldNames = [...new Set(Object.values(podShapes).flatMap((shape) => Object.keys(shape)))];

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 8, withCrossShrink: true },
    fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom("", "a", "Always", "1Gi"),
    ),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...fieldNames), fc.string()), tie("value"), { maxKeys: 4 }),
  ),
}));

const runs = { numRuns: 500, seed: 39_816_633 };

test("any value in the fields of a pod is accepted or refused with a reason", () => {
  const pod = fc.record({
    apiVersion: fc.constant("v1"),
    kind: fc.constantFrom("Pod", "PodList"),
    metadata: fc.oneof(value, fc.record({ name: fc.string(), labels: value, annotations: value })),
    spec: fc.oneof(
      value,
      fc.record({ containers: fc.array(value, { maxLength: 2 }), volumes: value, tolerations: value }),
    ),
    items: fc.array(value, { maxLength: 2 }),
  });
  fc.assert(
    fc.property(pod, (manifest) => {
      const result = readText(JSON.stringify(manifest));
      assert.ok(result.kind === "ok" || result.reason !== "");
    }),
    runs,
  );
});

test("random bytes and random text are refused", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 300 }),
        fc.string({ maxLength: 300 }).map((text) => new TextEncoder().encode(text)),
      ),
      (bytes) => {
        assert.equal(read(bytes).kind, "refused");
      },
    ),
    runs,
  );
});

const deep = (open: string, close: string, levels: number) => `${open.repeat(levels)}${close.repeat(levels)}`;
const pod = (spec: string, metadata = '"name":"a"') =>
  `{"apiVersion":"v1","kind":"Pod","metadata":{${metadata}},"spec":${spec}}`;
const hostile: readonly (readonly [string, string])[] = [
  ["100,000 nested lists", pod(deep("[", "]", 100_000))],
  [
    "50,000 nested maps",
    pod(deep('{"a":', "1}", 1).replace("1}", `${deep('{"a":', "}", 50_000).replace("}", "1}")}}`)),
  ],
  ["20,000 nested lists in YAML", `apiVersion: v1\nkind: Pod\nspec: ${deep("[", "]", 20_000)}\n`],
  [
    "100,000 nested lists in managedFields",
    pod('{"containers":[]}', `"name":"a","managedFields":[{"fieldsV1":${deep("[", "]", 100_000)}}]`),
  ],
  ["the number 1e400", pod('{"containers":[],"terminationGracePeriodSeconds":1e400}')],
  ["a name of a megabyte", pod('{"containers":[]}', `"name":"${"a".repeat(2 ** 20)}"`)],
  ["a name that is hard for regular expressions", pod('{"containers":[]}', `"name":"${"a-".repeat(50_000)}!"`)],
  [
    "an image that is hard for regular expressions",
    pod(`{"containers":[{"name":"a","image":"${"a.".repeat(50_000)}!"}],"restartPolicy":"x"}`),
  ],
];
const kindWithin3s = (text: string) => {
  const startedMs = hostClock.monotonicMs();
  const { kind } = readText(text);
  assert.ok(hostClock.monotonicMs() - startedMs < 3000, `${hostClock.monotonicMs() - startedMs} ms`);
  return kind;
};
for (const [name, text] of hostile) {
  test(`[4.4] a hostile manifest is refused within 3 s: ${name}`, () => assert.equal(kindWithin3s(text), "refused"));
}

test("[4.4] a manifest with an amount beyond every node is read within 3 s, as the API server reads it", () => {
  const limits = (amount: string) =>
    pod(`{"containers":[{"name":"a","image":"b","resources":{"limits":{"cpu":"${amount}"}}}]}`);
  assert.equal(kindWithin3s(limits("1e999999999")), "ok");
});

test("[4.4] the size limit is 10 MiB", () => assert.equal(MANIFEST_BYTES_MAX, 10_485_760));
