import assert from "node:assert/strict";
import { test } from "node:test";
import { reservedCpusFault } from "./reserved-cpus.ts";

test("[1.29] reserved CPUs must be online", () => {
  const fault = (cpusText: string, cpus: readonly number[]) =>
    reservedCpusFault({ cpus: new Set(cpus), cpusText }, "0-1,4");
  assert.equal(fault("", []), undefined);
  assert.equal(fault("0,4", [0, 4]), undefined);
  assert.equal(fault("2", [2]), "reserved-cpus: 2 is not a subset of online-cpus: 0-1,4");
  assert.equal(fault("0-2", [0, 1, 2]), "reserved-cpus: 0-2 is not a subset of online-cpus: 0-1,4");
});
