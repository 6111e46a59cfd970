import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/gen/core-v1.ts";
import { hugepageVolumeSize, memoryVolumeBytes } from "./memory-volume.ts";

const MIB = 1024n * 1024n;
const pod = (spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod => ({
  spec: { containers: [{ name: "app" }], ...spec },
});

test("[13.5] a memory emptyDir is as large as the smallest of its sizeLimit, the pod's memory limit and the node's memory", () => {
  const limited = pod({
    containers: [{ name: "app", resources: { limits: { memory: "64Mi" }, requests: { memory: "64Mi" } } }],
  });
  const size = (sizeLimit: string | undefined, of = pod()) => {
    const emptyDir = { medium: "Memory", ...(sizeLimit === undefined ? {} : { sizeLimit }) };
    return memoryVolumeBytes(of, { name: "v", emptyDir }, 1000n * MIB);
  };
  assert.equal(size(undefined), 1000n * MIB);
  assert.equal(size("10Mi"), 10n * MIB);
  assert.equal(size("2Gi"), 1000n * MIB);
  assert.equal(size(undefined, limited), 64n * MIB);
  assert.equal(size("128Mi", limited), 64n * MIB);
  assert.equal(size("0", limited), 64n * MIB);
});

test("[13.5] a huge page volume needs a request that determines its page size", () => {
  const requests = (...sizes: string[]) =>
    pod({
      containers: [
        { name: "app", resources: { requests: Object.fromEntries(sizes.map((size) => [`hugepages-${size}`, "4Mi"])) } },
      ],
    });
  const refused = (message: string) => ({ kind: "refused", message });
  assert.deepEqual(hugepageVolumeSize(requests("2Mi"), "HugePages"), { kind: "size", text: "2Mi" });
  assert.deepEqual(hugepageVolumeSize(requests("2Mi", "1Gi"), "HugePages-2Mi"), { kind: "size", text: "2Mi" });
  assert.deepEqual(
    hugepageVolumeSize(requests("2Mi", "1Gi"), "HugePages"),
    refused("medium: HugePages can't be used if container requests multiple huge page sizes"),
  );
  assert.deepEqual(
    hugepageVolumeSize(pod(), "HugePages-2Mi"),
    refused("medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge pages"),
  );
});
