import assert from "node:assert/strict";
import { test } from "node:test";
import { pod } from "../../../test/support/pods.ts";
import { runtimeHandler } from "./runtime-handler.ts";

const classes = new Map([["gvisor", { metadata: { name: "gvisor" }, handler: "runsc" }]]);

test("[25.8] a pod has the handler of its RuntimeClass, or the default one without a class", () => {
  const of = (runtimeClassName?: string) =>
    runtimeHandler(pod(runtimeClassName === undefined ? {} : { runtimeClassName }), classes);
  assert.deepEqual(of("gvisor"), { kind: "handler", handler: "runsc" });
  assert.deepEqual(of(""), { kind: "handler", handler: "" });
  assert.deepEqual(of(), { kind: "handler", handler: "" });
  assert.deepEqual(of("kata"), { kind: "missing", message: 'runtimeclass.node.k8s.io "kata" not found' });
});

test("[25.8] before RuntimeClasses are listed only a pod without one has a handler", () => {
  assert.deepEqual(runtimeHandler(pod(), undefined), { kind: "handler", handler: "" });
  assert.equal(runtimeHandler(pod({ runtimeClassName: "gvisor" }), undefined).kind, "missing");
});
