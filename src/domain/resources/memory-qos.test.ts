import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, ResourceRequirements } from "../../api/gen/core-v1.ts";
import {
  containerMemoryFiles,
  type MemoryQos,
  podMemoryFiles,
  reservedMemoryFiles,
  tierMemoryFiles,
} from "./memory-qos.ts";

const off: MemoryQos = { tiered: false, throttlingFactor: 0.9, allocatableBytes: 4_000_000_000n };
const tiered: MemoryQos = { ...off, tiered: true };
const podOf = (resources: ResourceRequirements, phase = "Running"): Pod => ({
  spec: { containers: [{ name: "a", resources }] },
  status: { phase },
});
const filesOf = (resources: ResourceRequirements, qos: MemoryQos) =>
  containerMemoryFiles(podOf(resources), { resources }, qos);

const guaranteed = { requests: { cpu: "1", memory: "64Mi" }, limits: { cpu: "1", memory: "64Mi" } };
const burstable = { requests: { memory: "64Mi" }, limits: { memory: "128Mi" } };

void test("[14.11] memory.high lies between request and limit, in whole pages", () => {
  const none = { "memory.min": "0", "memory.low": "0" };
  // 64Mi + 0.9 * 64Mi = 127506841.6, which holds 31129 whole pages.
  assert.deepEqual(filesOf(burstable, off), { ...none, "memory.high": "127504384" });
  assert.deepEqual(filesOf({ limits: { memory: "128Mi" } }, off), { ...none, "memory.high": "120795136" });
  assert.deepEqual(filesOf(burstable, { ...off, throttlingFactor: 1 })["memory.high"], "134217728");
});

void test("[14.11] without a limit memory.high follows from node allocatable", () => {
  assert.equal(filesOf({ requests: { memory: "64Mi" } }, off)["memory.high"], "3606708224");
  assert.equal(filesOf({ requests: { memory: "64Mi" } }, { ...off, allocatableBytes: 0n })["memory.high"], undefined);
});

void test("[14.11] memory.high is unset when the request equals the limit, and without both", () => {
  assert.equal(filesOf(guaranteed, off)["memory.high"], undefined);
  assert.equal(filesOf({}, off)["memory.high"], undefined);
});

void test("[14.11] tiered reservation sets memory.min for Guaranteed and memory.low for Burstable", () => {
  assert.deepEqual(filesOf(guaranteed, tiered), { "memory.min": "67108864" });
  assert.deepEqual(filesOf(burstable, tiered), { "memory.low": "67108864", "memory.high": "127504384" });
  assert.deepEqual(filesOf({ limits: { memory: "128Mi" } }, tiered), {
    "memory.min": "0",
    "memory.low": "0",
    "memory.high": "120795136",
  });
  assert.deepEqual(podMemoryFiles(podOf(guaranteed), tiered), new Map([["memory.min", "67108864"]]));
  assert.deepEqual(podMemoryFiles(podOf(burstable), tiered), new Map([["memory.low", "67108864"]]));
  for (const [resources, qos] of [
    [burstable, off],
    [{}, tiered],
  ] as const) {
    assert.deepEqual(podMemoryFiles(podOf(resources), qos), new Map());
  }
});

void test("[14.11] the cgroups above pods reserve the sum of their pods, or zero without tiered reservation", () => {
  const pods = [podOf(guaranteed), podOf(burstable), podOf(burstable), podOf({})];
  assert.deepEqual(tierMemoryFiles(pods, tiered), {
    all: new Map([["memory.min", "201326592"]]),
    burstable: new Map([["memory.low", "134217728"]]),
  });
  assert.deepEqual(tierMemoryFiles(pods, off), {
    all: new Map([["memory.min", "0"]]),
    burstable: new Map([["memory.low", "0"]]),
  });
  assert.deepEqual(reservedMemoryFiles(5n), new Map([["memory.min", "5"]]));
});
