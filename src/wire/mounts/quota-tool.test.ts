import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkProject,
  countsProjects,
  isInProject,
  isPlainPath,
  joinProject,
  parseUsage,
  quotaCall,
  STATE,
  usageCommands,
} from "./quota-tool.ts";

void test("[21.9] xfs_quota is run with one mount, without files of projects, and never descends into a volume", () => {
  const { command, args } = quotaCall("/var/lib/kubelet", "/dev/fd/3", [STATE, ...usageCommands(1_048_577)]);
  const quoted = args.map((arg) => (arg.includes(" ") ? `'${arg}'` : arg)).join(" ");
  assert.equal(
    `${command} ${quoted}`,
    "xfs_quota -t /dev/fd/3 -P/dev/null -D/dev/null -x -f -c 'state -p' -c 'quota -p -N -n -v -b 1048577' -c 'quota -p -N -n -v -i 1048577' /var/lib/kubelet",
  );
  assert.equal(joinProject("/v", 1_048_577), "project -s -d 0 -p /v 1048577");
  assert.equal(checkProject("/v", 1_048_577), "project -c -d 0 -p /v 1048577");
});

void test("[21.9] the tool's answers: accounting, membership, and the usage in blocks of 1 KiB and inodes", () => {
  const state = "Project quota state on /v (/dev/loop0)\n  Accounting: ON\n  Enforcement: ON\n";
  assert.deepEqual([countsProjects(state), countsProjects(state.replace("ON", "OFF"))], [true, false]);
  const checked = "Checking project 1048577 (path /v)...\nProcessed 1 (/dev/null and cmdline) paths\n";
  assert.equal(isInProject(checked), true);
  for (const lacks of ["project identifier is not set (inode=0, tree=1048577)", "project inheritance flag is not set"])
    assert.equal(isInProject(`${checked}/v - ${lacks}\n`), false);
  const blocks = "/dev/loop0              20480          0          0   00 [--------] /v";
  const inodes = "/dev/loop0                 12          0          0   00 [--------] /v";
  assert.deepEqual(parseUsage(`${blocks}\n${inodes}\n`), { bytes: 20_971_520, inodes: 12 });
  assert.deepEqual(parseUsage(""), { bytes: 0, inodes: 0 });
  for (const text of [blocks, "no numbers\nhere", `${blocks}\n${inodes}\n${inodes}`])
    assert.equal(parseUsage(text), undefined, text);
});

void test("paths that the tool or its files could misread are no plain paths", () => {
  assert.ok(isPlainPath("/var/lib/kubelet/pods/3f0-1/volumes/kubernetes.io~empty-dir/data"));
  for (const path of ["relative", "/with space", "/with\nline", '/quoted"', "/back\\slash", "/hash#tag", "/naïve", ""])
    assert.ok(!isPlainPath(path), path);
});
