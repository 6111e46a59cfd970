import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseIp, scopeOf } from "./ip-address.ts";

for (const [text, canonical] of [
  ["10.0.0.1", "10.0.0.1"],
  ["010.0.0.1", undefined],
  ["10.0.0", undefined],
  ["10.0.0.256", undefined],
  ["FD00:0:0:0:0:0:0:1", "fd00::1"],
  ["::", "::"],
  ["::1", "::1"],
  ["2001:db8:0:1:0:0:0:1", "2001:db8:0:1::1"],
  ["2001:0:0:1:0:0:1:1", "2001::1:0:0:1:1"],
  ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["64:ff9b::10.0.0.1", "64:ff9b::a00:1"],
  ["1::2::3", undefined],
  ["1:2:3:4:5:6:7:8:9", undefined],
  ["12345::", undefined],
  ["fe80::1%eth0", undefined],
  ["node-1", undefined],
  ["", undefined],
] as const) {
  test(`parseIp of "${text}" gives ${canonical}`, () => assert.equal(parseIp(text)?.text, canonical));
}

test("parseIp accepts every address, and its text parses back to the same address", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const address = parseIp(text);
      assert.ok(address);
      assert.deepEqual(parseIp(address.text), address);
    }),
  );
});

for (const [text, scope] of [
  ["0.0.0.0", "unspecified"],
  ["::", "unspecified"],
  ["127.1.2.3", "loopback"],
  ["::1", "loopback"],
  ["224.0.0.1", "multicast"],
  ["ff02::1", "multicast"],
  ["169.254.1.1", "linkLocal"],
  ["fe80::1", "linkLocal"],
  ["febf::1", "linkLocal"],
  ["192.0.2.1", "other"],
  ["fd00::1", "other"],
] as const) {
  test(`the scope of ${text} is ${scope}`, () => {
    const address = parseIp(text);
    assert.ok(address);
    assert.equal(scopeOf(address), scope);
  });
}
