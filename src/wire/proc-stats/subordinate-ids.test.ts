import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { KernelFiles } from "./kernel-files.ts";
import { parseSubordinateIds, readSubordinateIds } from "./subordinate-ids.ts";

test("[25.7] getsubids output is parsed as one range, and anything else is rejected", () => {
  assert.deepEqual(parseSubordinateIds("0: kubelet 65536 7208960\n"), { first: 65_536, length: 7_208_960 });
  for (const [output, why] of [
    ["0: kubelet 1 2\n1: kubelet 3 4\n", /it must contain only one line$/],
    ["", /^invalid line ""$/],
    ["0: kubelet 1", /^invalid line "0: kubelet 1"$/],
    ["0: kubelet x 2", /^error parsing line/],
    ["0: kubelet 1 4294967296", /^error parsing line/],
  ] as const)
    assert.throws(() => parseSubordinateIds(output), { message: why });
});

test("[25.7] a machine without the user has no subordinate IDs", async () => {
  const root = await mkdtemp(join(tmpdir(), "subordinate-ids-"));
  try {
    await mkdir(join(root, "etc"));
    await writeFile(join(root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nkubelets:x:7:7::/:/bin/sh\n");
    assert.equal(await readSubordinateIds(new KernelFiles(root), "kubelet"), undefined);
    assert.equal(await readSubordinateIds(new KernelFiles(join(root, "nowhere")), "kubelet"), undefined);
  } finally {
    await rm(root, { recursive: true });
  }
});
