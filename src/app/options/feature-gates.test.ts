import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOf } from "../../../test/support/options.ts";
import { gateWarnings, resolveGates } from "./feature-gates.ts";

void test("[1.10] an unknown gate is fatal", () => {
  const text = "failed to set feature gates from initial flags-based config: unrecognized feature gate: Nope";
  assert.equal(faultOf(["--feature-gates=Nope=true"]), text);
});

void test("[1.10] a locked gate can only be set to its locked value", () => {
  assert.equal(resolveGates({ NodeSwap: true }).NodeSwap, true);
  const text = "cannot set feature gate NodeSwap to false, feature is locked to true";
  assert.equal(
    faultOf(["--feature-gates=NodeSwap=false"]),
    `failed to set feature gates from initial flags-based config: ${text}`,
  );
  assert.throws(
    () => resolveGates({ GitRepoVolumeDriver: true }),
    /cannot set feature gate GitRepoVolumeDriver to true/,
  );
});

void test("[1.10] AllAlpha and AllBeta set the gates that are not set by name", () => {
  const gates = resolveGates({ AllAlpha: true, EventedPLEG: false });
  assert.deepEqual([gates.MemoryQoS, gates.EventedPLEG, gates.PodLevelResources], [true, false, true]);
  assert.equal(resolveGates({ AllBeta: true }).SELinuxMount, true);
});

void test("[1.10] a gate whose dependency is off is rejected", () => {
  assert.throws(
    () => resolveGates({ GracefulNodeShutdown: false, WindowsGracefulNodeShutdown: false }),
    /GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: \[GracefulNodeShutdown\]/,
  );
});

void test("[1.10] the defaults are those of 1.36", () => {
  const gates = resolveGates({});
  assert.deepEqual(
    [
      gates.KubeletPSI,
      gates.ContainerRestartRules,
      gates.EventedPLEG,
      gates.GitRepoVolumeDriver,
      gates.DisableCPUQuotaWithExclusiveCPUs,
    ],
    [true, true, false, false, true],
  );
});

void test("[1.10] a gate that will be removed is warned about", () => {
  assert.equal(gateWarnings({ NodeSwap: true, MemoryQoS: true }).length, 1);
});
