import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { pod } from "../../../../test/support/pods.ts";
import { formatMap, podField, type ReferredText, variableField } from "./field-reference.ts";

const POD = pod(
  { nodeName: "n1", serviceAccountName: "robot" },
  {
    name: "web-1",
    namespace: "shop",
    uid: "u-1",
    labels: { app: "web", "example.com/tier": "front" },
    annotations: { "Example.com/Note": "two\nlines", empty: "" },
  },
);
const PLACE = { podIps: ["198.18.0.5", "2001:db8::5"], hostIps: ["192.0.2.1", "2001:db8::1"] };

const shown = (answer: ReferredText) => (answer.kind === "text" ? answer.text : `refused: ${answer.message}`);
const variable = (fieldPath: string, apiVersion = "v1", place = PLACE) =>
  shown(variableField({ apiVersion, fieldPath }, POD, place));
const file = (fieldPath: string) => shown(podField(fieldPath, POD));

for (const [path, value] of [
  ["metadata.name", "web-1"],
  ["metadata.namespace", "shop"],
  ["metadata.uid", "u-1"],
  ["metadata.labels['app']", "web"],
  ["metadata.labels['example.com/tier']", "front"],
  ["metadata.labels['none']", ""],
  ["metadata.labels['constructor']", ""],
  ["metadata.annotations['Example.com/Note']", "two\nlines"],
  ["metadata.annotations['empty']", ""],
  ["spec.nodeName", "n1"],
  ["spec.host", "n1"],
  ["spec.serviceAccountName", "robot"],
  ["status.hostIP", "192.0.2.1"],
  ["status.hostIPs", "192.0.2.1,2001:db8::1"],
  ["status.podIP", "198.18.0.5"],
  ["status.podIPs", "198.18.0.5,2001:db8::5"],
] as const) {
  test(`[24.8] ${path} is ${JSON.stringify(value)}`, () => assert.equal(variable(path), value));
}

test("[24.8] status.podIP is empty before the pod has an address; an unknown host IP is an error", () => {
  const nowhere = { podIps: [], hostIps: [] };
  assert.deepEqual([variable("status.podIP", "v1", nowhere), variable("status.podIPs", "v1", nowhere)], ["", ""]);
  assert.equal(variable("status.hostIP", "v1", nowhere), "refused: host IP unknown");
});

for (const [path, message] of [
  ["spec.unheardOf", "field label not supported: spec.unheardOf"],
  ["status.phase", "unsupported fieldPath: status.phase"],
  ["spec.restartPolicy", "unsupported fieldPath: spec.restartPolicy"],
  ["spec.nodeName['x']", "field label does not support subscript: spec.nodeName['x']"],
  ["metadata.labels[]", "field label not supported: metadata.labels[]"],
  ["metadata.labels[']", "field label not supported: metadata.labels[']"],
  ["['x']", "field label not supported: ['x']"],
] as const) {
  test(`[24.8] ${path} is refused with upstream's message`, () => assert.equal(variable(path), `refused: ${message}`));
}

test("[24.8] invalid label and annotation keys and unknown API versions are refused", () => {
  assert.match(
    variable("metadata.labels['a b']"),
    /^refused: invalid key subscript in metadata\.labels\['a b'\]: name part /,
  );
  assert.match(variable("metadata.labels['Example.com/x']"), /^refused: .* prefix part /);
  assert.match(
    variable("metadata.annotations['']"),
    /^refused: invalid key subscript in metadata\.annotations\[''\]: /,
  );
  assert.equal(variable("metadata.name", "v2"), "refused: unsupported pod version: v2");
});

test("[13.9] labels and annotations are written one sorted, quoted line per key, without a final line break", () => {
  assert.equal(file("metadata.labels"), 'app="web"\nexample.com/tier="front"');
  assert.equal(file("metadata.annotations"), 'Example.com/Note="two\\nlines"\nempty=""');
  assert.equal(formatMap({}), "");
  assert.equal(formatMap({ b: '"', a: "ä\t\u0001", "a-b": "x" }), 'a="ä\\t\\x01"\na-b="x"\nb="\\""');
});

test("[13.9] a volume file shows only fields of the metadata", () => {
  assert.deepEqual(
    [file("metadata.name"), file("metadata.uid"), file("metadata.labels['app']")],
    ["web-1", "u-1", "web"],
  );
  assert.equal(file("status.podIP"), "refused: unsupported fieldPath: status.podIP");
  assert.equal(file("spec.x['y']"), `refused: fieldPath "spec.x['y']" does not support subscript`);
});

test("[24.8] any path is resolved, or refused with a message that names it", () => {
  const piece = fc.constantFrom(
    "metadata.",
    "labels",
    "annotations",
    "spec.",
    "status.",
    "['",
    "']",
    "'",
    "[",
    "name",
    "a/b",
    "/",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const path = pieces.join("");
      for (const answer of [variableField({ fieldPath: path }, POD, PLACE), podField(path, POD)]) {
        assert.ok(answer.kind === "text" || answer.message.includes(path), JSON.stringify(answer));
      }
    }),
    { numRuns: 1_000 },
  );
});

test("[13.9] every key of a map is on its own line", () => {
  const key = fc.string({ unit: fc.constantFrom("a", "b", "-", ".", "_"), minLength: 1 });
  fc.assert(
    fc.property(fc.dictionary(key, fc.string()), (map) => {
      const lines = formatMap(map).split("\n");
      const names = lines.map((line) => line.slice(0, line.indexOf("=")));
      assert.deepEqual(
        Object.keys(map).length === 0 ? [""] : Object.keys(map).sort(),
        names.map((name) => name || ""),
      );
    }),
  );
});
