import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { applyStrategicMerge } from "../../test/support/strategic-merge-applier.ts";
import type { JsonObject } from "./json-equal.ts";
import { type MergeFields, strategicMergePatch } from "./strategic-merge.ts";

const fields: MergeFields = {
  conditions: { kind: "listByKey", key: "type" },
  addresses: { kind: "listReplaced" },
  status: { kind: "object", fields: { conditions: { kind: "listByKey", key: "type" } } },
};

const rows: readonly (readonly [name: string, current: JsonObject, target: JsonObject, want: unknown])[] = [
  ["no change gives no patch", { a: 1, b: undefined }, { a: 1 }, undefined],
  ["fields are added, changed and removed", { b: 1, c: 1 }, { a: 1, b: 2 }, { a: 1, b: 2, c: null }],
  ["maps are merged", { m: { x: "1", y: "1" } }, { m: { x: "1", z: "1" } }, { m: { y: null, z: "1" } }],
  ["a plain list is replaced", { images: [1, 2] }, { images: [2] }, { images: [2] }],
  [
    "only the changed fields of the changed item are sent, with its key",
    { conditions: [{ type: "A", at: 1, status: "x" }, { type: "B" }] },
    { conditions: [{ type: "A", at: 2, status: "x" }, { type: "B" }] },
    { conditions: [{ type: "A", at: 2 }] },
  ],
  [
    "list items are added, removed and reordered",
    { conditions: [{ type: "A" }, { type: "B" }] },
    { conditions: [{ type: "C" }, { type: "B" }] },
    {
      conditions: [{ type: "C" }, { type: "A", $patch: "delete" }],
      "$setElementOrder/conditions": [{ type: "C" }, { type: "B" }],
    },
  ],
  [
    "a list with duplicate keys is sent whole with $patch: replace",
    { addresses: [{ type: "InternalIP", address: "a" }] },
    {
      addresses: [
        { type: "InternalIP", address: "a" },
        { type: "InternalIP", address: "b" },
      ],
    },
    {
      addresses: [{ type: "InternalIP", address: "a" }, { type: "InternalIP", address: "b" }, { $patch: "replace" }],
    },
  ],
  [
    "a list with duplicate keys on the server is replaced",
    { conditions: [{ type: "A" }, { type: "A" }] },
    { conditions: [{ type: "A" }] },
    { conditions: [{ type: "A" }, { $patch: "replace" }] },
  ],
  [
    "lists below an object",
    { status: { conditions: [{ type: "A" }] } },
    { status: { conditions: [{ type: "A", r: 1 }] } },
    { status: { conditions: [{ type: "A", r: 1 }] } },
  ],
  ["a key named constructor", { m: {} }, { m: { constructor: "x" } }, { m: { constructor: "x" } }],
];

for (const [name, current, target, want] of rows) {
  test(`strategic merge: ${name}`, () => {
    assert.deepEqual(strategicMergePatch(current, target, fields), want);
  });
}

test("strategicMergePatch throws when the target has two items with one key", () => {
  assert.throws(
    () =>
      strategicMergePatch(
        { conditions: [{ type: "A" }] },
        { conditions: [{ type: "A" }, { type: "A", b: 1 }] },
        fields,
      ),
    /two items/,
  );
});

const scalar = fc.oneof(fc.string({ maxLength: 3 }), fc.integer({ min: 0, max: 3 }), fc.boolean());
const item = fc.record(
  { type: fc.constantFrom("A", "B", "C", "D", "E"), status: scalar, at: scalar },
  { requiredKeys: ["type"] },
);
const keyed = fc.uniqueArray(item, { selector: ({ type }) => type, maxLength: 5 });
const map = fc.dictionary(fc.constantFrom("x", "y", "constructor", "__proto__"), scalar, { maxKeys: 3 });
// The server groups items of the same type together, whatever order the patch states.
const together = fc
  .array(item, { maxLength: 4 })
  .map((items) => items.toSorted((a, b) => a.type.localeCompare(b.type)));
const leaf = { conditions: keyed, addresses: together, images: fc.array(scalar), m: map };
const object = fc.record({ ...leaf, status: fc.record(leaf, { requiredKeys: [] }) }, { requiredKeys: [] });

test("[3.14] applying a patch to its source gives the target, for random objects", () => {
  fc.assert(
    fc.property(object, object, (current: JsonObject, target: JsonObject) => {
      const patch = strategicMergePatch(current, target, fields);
      const result = patch === undefined ? current : applyStrategicMerge(current, patch, fields);
      assert.deepEqual(plain(result), plain(target));
    }),
    { numRuns: 2000 },
  );
});

test("[3.14] a patch applies our changes and keeps a list item that others added meanwhile", () => {
  const others = { type: "Z", status: "theirs" };
  fc.assert(
    fc.property(keyed, keyed, fc.nat(), (current, target, place) => {
      const patch = strategicMergePatch({ conditions: current }, { conditions: target }, fields) ?? {};
      const live = current.toSpliced(place % (current.length + 1), 0, others as never);
      const result = applyStrategicMerge({ conditions: live }, patch, fields)["conditions"] as readonly JsonObject[];
      assert.deepEqual(plain(result.filter(({ type }) => type !== "Z")), plain(target));
      assert.deepEqual(
        result.filter(({ type }) => type === "Z"),
        [others],
      );
    }),
    { numRuns: 1000 },
  );
});

/** As a server returns it: without prototypes and undefined fields. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
