import assert from "node:assert/strict";

import { test } from "node:test";
import { goldenJson } from "../../../test/support/golden.ts";
import { encodeConfiguration } from "./decode-configuration.ts";
import { withDefaults } from "./defaults.ts";
import { resolveGates } from "./feature-gates.ts";
import { FIELD_PATHS, fieldOf } from "./fields.ts";
import { FLAGS } from "./flag-table.ts";

const golden = goldenJson("kubelet-configuration-defaults.json");

void test("[1.7] [1.8] defaults are those that the Go kubelet v1.36.4 writes for an empty configuration", () => {
  const { apiVersion, kind, ...ours } = encodeConfiguration(withDefaults({}, resolveGates({})));
  assert.deepEqual([apiVersion, kind], ["kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"]);
  // In this form the Go kubelet leaves the pointer nil, and reads nil as false.
  const { enableSystemLogQuery, ...others } = ours;
  assert.equal(enableSystemLogQuery, false);
  assert.deepEqual(others, golden);
});

void test("[1.2] a flag belongs to one field only, and every field has a class", () => {
  const flags = FIELD_PATHS.flatMap((path) => fieldOf(path).flag ?? []);
  assert.equal(new Set(flags).size, flags.length);
  assert.equal(new Set(FLAGS.map(({ name }) => name)).size, FLAGS.length);
  const kinds = new Set(FIELD_PATHS.map((path) => fieldOf(path).support.kind));
  assert.deepEqual([...kinds].toSorted(), ["accepted", "refused", "supported", "unimplemented"]);
});
