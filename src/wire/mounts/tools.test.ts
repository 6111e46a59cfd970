import assert from "node:assert/strict";
import { test } from "node:test";
import type { MountPoint } from "../../ports/mounts.ts";
import {
  codeOfOutput,
  mountFailure,
  parseCheck,
  parseProbe,
  saysNotMounted,
  type ToolResult,
  toolFailure,
  unmountFailure,
} from "./tool-answers.ts";
import {
  bindCall,
  bindDescriptorCall,
  bindToItselfCall,
  checkCall,
  deviceMountCall,
  formatCall,
  hugepagesMountCall,
  inScope,
  makeSharedCall,
  memoryMountCall,
  probeCall,
  remountBindCall,
  type ToolCall,
  unmountCall,
} from "./tool-arguments.ts";

const line = (call: ToolCall | undefined) => call && [call.command, ...call.args].join(" ");

void test("[13.5] tmpfs and hugetlbfs are mounted with their size option, and without one when no size is set", () => {
  const lines = [
    memoryMountCall("/v", { sizeBytes: 64n << 20n, noSwap: true }),
    memoryMountCall("/v", { sizeBytes: 9_007_199_254_740_993n, noSwap: false }),
    memoryMountCall("/v", { sizeBytes: undefined, noSwap: false }),
    memoryMountCall("/v", { sizeBytes: 0n, noSwap: false }),
    hugepagesMountCall("/v", "2Mi"),
    hugepagesMountCall("/v", undefined),
  ].map(line);
  assert.deepEqual(lines, [
    "mount -t tmpfs -o size=67108864,noswap tmpfs /v",
    "mount -t tmpfs -o size=9007199254740993 tmpfs /v",
    "mount -t tmpfs tmpfs /v",
    "mount -t tmpfs tmpfs /v",
    "mount -t hugetlbfs -o pagesize=2Mi nodev /v",
    "mount -t hugetlbfs nodev /v",
  ]);
});

void test("[13.33] commands that probe, check, format and mount a disk", () => {
  const lines = [
    probeCall("/dev/a"),
    checkCall("/dev/a"),
    formatCall("/dev/a", "ext4"),
    formatCall("/dev/a", "ext3"),
    formatCall("/dev/a", "xfs"),
    formatCall("/dev/a", "btrfs"),
    deviceMountCall("/dev/a", "/t", "ext4", ["ro", "defaults"]),
    deviceMountCall("/dev/a", "/t", "", []),
  ].map(line);
  assert.deepEqual(lines, [
    "blkid -p -s TYPE -s PTTYPE -o export /dev/a",
    "fsck -a /dev/a",
    "mkfs.ext4 -F -m0 /dev/a",
    "mkfs.ext3 -F -m0 /dev/a",
    "mkfs.xfs -f /dev/a",
    "mkfs.btrfs /dev/a",
    "mount -t ext4 -o ro,defaults /dev/a /t",
    "mount /dev/a /t",
  ]);
});

void test("an invalid filesystem type is rejected, and a source that looks like an option is passed after --", () => {
  assert.deepEqual(
    ["", "../x", "ext4/../sh", "-h", "ext4 -n", "__proto__"].map((type) => formatCall("/dev/a", type)),
    [undefined, undefined, undefined, undefined, undefined, undefined],
  );
  assert.equal(line(deviceMountCall("-oexec:/x", "/t", "nfs", [])), "mount -t nfs -- -oexec:/x /t");
});

const bound = (...options: string[]): MountPoint => ({
  path: "/t",
  root: "/",
  type: "ext4",
  source: "/dev/a",
  device: "8:1",
  options,
  superOptions: [],
  propagation: [],
});

void test("a bind mount is remounted with its options and the inherited ones", () => {
  assert.equal(line(bindCall("/s", "/t", ["ro", "_netdev"])), "mount -o bind,_netdev /s /t");
  assert.equal(
    line(remountBindCall("/s", "/t", ["bind", "ro"], bound("rw", "nosuid", "relatime", "ro"))),
    "mount -o bind,remount,ro,nosuid,relatime /s /t",
  );
  assert.equal(remountBindCall("/s", "/t", ["bind", "_netdev"], bound("rw", "nosuid")), undefined);
});

void test("[13.14] a subPath is bind-mounted from its descriptor in /proc/self/fd", () => {
  assert.equal(line(bindDescriptorCall(3, "/t")), "mount --no-canonicalize -o bind /proc/self/fd/3 /t");
});

void test("commands that share a mount, unmount, and mount inside a systemd scope", () => {
  const lines = [
    bindToItselfCall("/r"),
    makeSharedCall("/r"),
    unmountCall("/t", false),
    unmountCall("/t", true),
    inScope(deviceMountCall("s:/x", "/t", "nfs", []), "/t"),
  ].map(line);
  assert.deepEqual(lines, [
    "mount --bind /r /r",
    "mount --make-rshared /r",
    "umount --no-canonicalize /t",
    "umount --no-canonicalize --lazy /t",
    "systemd-run --description=Kubernetes transient mount for /t --scope -- mount -t nfs s:/x /t",
  ]);
});

const exited = (code: number, output = ""): ToolResult => ({ kind: "exited", code, stdout: output, output });

void test("[13.33] blkid's output gives the filesystem type, a partition table, an empty disk, or no result", () => {
  const answers = [
    exited(0, "DEVNAME=/dev/a\nTYPE=ext4\n"),
    exited(0, "PTTYPE=gpt\n"),
    exited(0, "TYPE=a=b\n"),
    exited(2),
    exited(8, "ambivalent"),
    { kind: "missing" } as const,
  ].map(parseProbe);
  assert.deepEqual(answers, [
    { type: "ext4", partitioned: false },
    { type: undefined, partitioned: true },
    { type: "a=b", partitioned: false },
    { type: undefined, partitioned: false },
    undefined,
    undefined,
  ]);
});

void test("[13.33] fsck's exit code gives clean, repaired, uncorrected or unavailable", () => {
  const codes = [0, 1, 3, 4, 5, 8, 32].map((code) => parseCheck(exited(code)));
  assert.deepEqual(codes, [
    "clean",
    "repaired",
    "repaired",
    "uncorrected",
    "unavailable",
    "unavailable",
    "unavailable",
  ]);
  assert.equal(parseCheck({ kind: "missing" }), "unavailable");
});

void test("mount errors have the Go kubelet's text, and the tool's output gives the error code", () => {
  const failed = exited(32, "mount: /t: special device /dev/a does not exist.\n");
  assert.equal(
    mountFailure(deviceMountCall("/dev/a", "/t", "ext4", ["ro"]), failed),
    "mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t ext4 -o ro /dev/a /t\n" +
      "Output: mount: /t: special device /dev/a does not exist.\n",
  );
  assert.equal(
    unmountFailure("/t", { kind: "killed", signal: "SIGKILL", output: "" }),
    "unmount failed: signal: SIGKILL\nUnmounting arguments: /t\nOutput: ",
  );
  assert.equal(
    toolFailure({ command: "blkid", args: ["-p"] }, { kind: "missing" }),
    'blkid -p: exec: "blkid": executable file not found in $PATH:',
  );
  const codes = [
    "umount: /t: target is busy.",
    "mount: /t: special device /dev/a does not exist.",
    "mount: /t: permission denied.",
    "mount: /t: cannot mount /dev/a read-only.",
    "wrong fs type",
  ].map((text) => codeOfOutput(exited(32, text)));
  assert.deepEqual(codes, ["busy", "notFound", "notPermitted", "readOnly", "other"]);
  assert.deepEqual(
    [saysNotMounted(exited(32, "umount: /t: not mounted.")), saysNotMounted(exited(32, "x"))],
    [true, false],
  );
});
