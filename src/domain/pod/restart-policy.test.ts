import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import type { ContainerRestartRule } from "../../api/gen/core-v1.ts";
import { restartsAfter } from "./restart-policy.ts";

const rule = (operator: string, values: readonly number[], action = "Restart"): ContainerRestartRule => ({
  action,
  exitCodes: { operator, values },
});
const never = pod({ restartPolicy: "Never" });
const always = pod({ restartPolicy: "Always" });

void suite("restart policy", () => {
  test("[7.11] a container's restartPolicy overrides the pod's", () => {
    assert.equal(restartsAfter(never, container("c", { restartPolicy: "OnFailure" }), 1), true);
    assert.equal(restartsAfter(never, container("c", { restartPolicy: "OnFailure" }), 0), false);
    assert.equal(restartsAfter(always, container("c", { restartPolicy: "Never" }), 1), false);
    assert.equal(restartsAfter(never, container("c", { restartPolicy: "Always" }), 0), true);
  });

  test("[7.11] a rule that matches the exit code overrides both policies", () => {
    const ruled = container("c", { restartPolicy: "Never", restartPolicyRules: [rule("In", [42, 43])] });
    assert.deepEqual(
      [42, 43, 1, 0].map((code) => restartsAfter(always, ruled, code)),
      [true, true, false, false],
    );
    const others = container("c", { restartPolicy: "Never", restartPolicyRules: [rule("NotIn", [0, 1])] });
    assert.deepEqual(
      [0, 1, 2].map((code) => restartsAfter(always, others, code)),
      [false, false, true],
    );
  });

  test("[7.11] a rule with an unknown action is ignored", () => {
    const strange = container("c", { restartPolicy: "Never", restartPolicyRules: [rule("In", [1], "Explode")] });
    assert.equal(restartsAfter(always, strange, 1), false);
  });

  test("[7.11] rules without a container restartPolicy are ignored", () => {
    assert.equal(restartsAfter(never, container("c", { restartPolicyRules: [rule("In", [1])] }), 1), false);
  });
});
