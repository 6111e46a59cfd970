/** test/integration/static-pods.test.ts verifies, on the same manifests, that the messages are the API server's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { badManifests, goodManifests } from "../../../test/support/pod-manifests.ts";
import { decodePod } from "./decode-pod.ts";
import { defaultPod } from "./static-pod-defaults.ts";
import { podErrors } from "./static-pod-validation.ts";

function errorsOf(manifest: unknown): readonly string[] {
  const decoded = decodePod(manifest);
  if (decoded.kind === "refused") throw new Error(decoded.reason);
  return podErrors(defaultPod(decoded.value));
}

for (const [name, manifest] of badManifests) {
  test(`[4.4] ${name}: refused with the path of a field`, () => {
    const errors = errorsOf(manifest);
    assert.ok(errors.length > 0);
    for (const error of errors) assert.match(error, /^(?:metadata|spec)[\w.[\]/-]*: [A-Z][a-z]+/);
  });
}

test("[4.4] no valid manifest is refused", () => {
  assert.deepEqual(
    goodManifests.flatMap(([name, manifest]) => errorsOf(manifest).map((error) => `${name}: ${error}`)),
    [],
  );
});

test("[4.4] all errors of a manifest are reported at once", () => {
  const manifest = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a", namespace: "default" },
    spec: { containers: [{ name: "a", ports: [{ containerPort: 0 }] }], restartPolicy: "No" },
  };
  assert.deepEqual(errorsOf(manifest), [
    "spec.containers[0].image: Required value",
    "spec.containers[0].ports[0].containerPort: Required value",
    'spec.restartPolicy: Unsupported value: "No": supported values: "Always", "OnFailure", "Never"',
  ]);
});
