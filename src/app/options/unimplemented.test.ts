import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { directoryOf, HEADER, load } from "../../../test/support/options.ts";

function namesFor(t: TestContext, configuration: string): readonly string[] {
  const path = join(directoryOf(t, { "config.yaml": HEADER + configuration }), "config.yaml");
  return load(["--config", path]).options.notImplemented.map((feature) => feature.split(/ \(|:/)[0] ?? "");
}

test("the defaults of a configuration file enable five features that are not implemented", (t) => {
  assert.deepEqual(namesFor(t, ""), [
    "CSI volumes and device plugins",
    "attached volumes",
    "verification of pull credentials",
    "the node's log files",
    "dynamic resource allocation",
  ]);
});

test("a feature that the configuration disables is not named", (t) => {
  const off = `enableControllerAttachDetach: false
imagePullCredentialsVerificationPolicy: NeverVerify
enableSystemLogHandler: false
`;
  // These cannot be disabled.
  assert.deepEqual(namesFor(t, off), ["CSI volumes and device plugins", "dynamic resource allocation"]);
});

test("features that are off by default are named once they are configured", (t) => {
  const on = `shutdownGracePeriod: 30s
memoryManagerPolicy: Static
topologyManagerPolicy: restricted
cpuManagerPolicy: static
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
systemReserved: {memory: 1Gi, cpu: "1"}
`;
  const names = namesFor(t, on);
  for (const name of [
    "graceful shutdown of the node",
    "the CPU manager",
    "the memory manager",
    "the topology manager",
  ]) {
    assert.ok(names.includes(name), `${name} in ${names.join()}`);
  }
});
