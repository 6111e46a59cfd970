import assert from "node:assert/strict";
import { test } from "node:test";
import { groupMode, rootIsOwned } from "./fs-group.ts";

const directory = (mode: number, gid = 7) => ({ mode, gid, isDirectory: true });
const file = (mode: number, gid = 7) => ({ mode, gid, isDirectory: false });

void test("[13.13] fsGroup adds 0660 to a file, 0440 when read-only, and setgid and execute to a directory", () => {
  for (const [shape, readOnly, want] of [
    [file(0o600), false, 0o660],
    [file(0o600), true, 0o640],
    [file(0o755), false, 0o775],
    [file(0o4000), false, 0o4660],
    [directory(0o700), false, 0o2770],
    [directory(0o000), true, 0o2550],
    [directory(0o1777), false, 0o3777],
  ] as const) {
    assert.equal(groupMode(shape, readOnly).toString(8), want.toString(8));
  }
});

void test("[13.13] a volume root with the group, setgid and at least the mode needs no ownership pass", () => {
  for (const [root, readOnly, want] of [
    [directory(0o2770), false, true],
    [directory(0o2777), false, true],
    [directory(0o2750), false, false],
    [directory(0o2750), true, true],
    [directory(0o770), false, false],
    [directory(0o2770, 8), false, false],
    [file(0o2770), false, false],
  ] as const) {
    assert.equal(rootIsOwned(root, 7, readOnly), want, root.mode.toString(8));
  }
});
