import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/gen/core-v1.ts";
import { weightOf } from "./cpu-units.ts";
import { qosCgroupValues } from "./qos-cgroups.ts";

const pod = (requests: Record<string, string>, limits: Record<string, string> = {}): Pod => ({
  spec: { containers: [{ name: "a", resources: { requests, limits } }] },
});

const cgroups = (pods: readonly Pod[], sizes: readonly string[] = []) =>
  Object.fromEntries(qosCgroupValues(pods, sizes).map(([name, values]) => [name.join("/"), values]));

void test("[14.9] burstable has the sum of its pods' CPU requests, besteffort 2 shares", () => {
  const guaranteed = pod({ cpu: "4", memory: "1Gi" }, { cpu: "4", memory: "1Gi" });
  const values = cgroups([pod({ cpu: "250m" }), pod({ cpu: "1" }), pod({ memory: "1Gi" }), guaranteed, pod({})]);
  assert.equal(values["kubepods/burstable"]?.cpuShares, 1280);
  assert.equal(values["kubepods/besteffort"]?.cpuShares, 2);
  assert.equal(values["kubepods"]?.cpuShares, undefined);
});

void test("[14.9] terminated pods do not count for burstable", () => {
  const over = ["Succeeded", "Failed"].map((phase): Pod => ({ ...pod({ cpu: "1" }), status: { phase } }));
  const running: Pod = { ...pod({ cpu: "500m" }), status: { phase: "Running" } };
  assert.equal(cgroups([...over, running])["kubepods/burstable"]?.cpuShares, 512);
});

void test("[14.9] without pods both QoS cgroups have weight 1", () => {
  const values = cgroups([]);
  for (const tier of ["kubepods/burstable", "kubepods/besteffort"]) {
    assert.equal(weightOf(values[tier]?.cpuShares ?? 0), 1, tier);
  }
});

void test("[14.9] QoS cgroups have no limit on huge pages", () => {
  for (const values of Object.values(cgroups([], ["2MB", "1GB"]))) {
    assert.deepEqual(
      values.hugepageLimitBytes,
      new Map([
        ["2MB", 2n ** 62n],
        ["1GB", 2n ** 62n],
      ]),
    );
  }
});
