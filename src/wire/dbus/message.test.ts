import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { DBUS_MESSAGE_BYTES_MAX } from "../limits.ts";
import { marshal } from "./marshal.ts";
import { decodeMessage, encodeMessage, messageLength } from "./message.ts";
import type { DbusValue } from "./signature.ts";
import { unmarshal } from "./unmarshal.ts";

/** What libsystemd's `busctl call` sent for StartTransientUnit, with its flag for interactive authorization removed. */
const START_TRANSIENT_UNIT =
  "6c010001e800000002000000b600000001016f00190000002f6f72672f667265656465736b746f702f73797374656d6431000000000000000301730012000000537461" +
  "72745472616e7369656e74556e697400000000000002017300200000006f72672e667265656465736b746f702e73797374656d64312e4d616e61676572000000000000" +
  "000006017300180000006f72672e667265656465736b746f702e73797374656d643100000000000000000801670010737361287376296128736128737629290000000e" +
  "0000006b756265706f64732e736c6963650000070000007265706c61636500ba000000000000000b0000004465736372697074696f6e0001730000250000006c696263" +
  "6f6e7461696e657220636f6e7461696e6572206b756265706f64732e736c6963650000000500000057616e7473000261730000000c000000070000002d2e736c696365" +
  "000900000043505557656967687400017400000000000000004f00000000000000100000004d656d6f72794163636f756e74696e670001620001000000000000000b00" +
  "0000416c6c6f776564435055730002617900020000000300000000000000";

const startCall = {
  kind: "call",
  serial: 2,
  path: "/org/freedesktop/systemd1",
  interface: "org.freedesktop.systemd1.Manager",
  member: "StartTransientUnit",
  destination: "org.freedesktop.systemd1",
  signature: "ssa(sv)a(sa(sv))",
  body: [
    "kubepods.slice",
    "replace",
    [
      ["Description", { signature: "s", value: "libcontainer container kubepods.slice" }],
      ["Wants", { signature: "as", value: ["-.slice"] }],
      ["CPUWeight", { signature: "t", value: 79n }],
      ["MemoryAccounting", { signature: "b", value: true }],
      ["AllowedCPUs", { signature: "ay", value: Uint8Array.of(3, 0) }],
    ],
    [],
  ],
} as const;

void test("a method call decodes as libsystemd encodes it, and encodes to the same length and body", () => {
  const theirs = Buffer.from(START_TRANSIENT_UNIT, "hex");
  assert.deepEqual(decodeMessage(theirs), startCall);
  const ours = encodeMessage(startCall);
  assert.equal(messageLength(ours), theirs.length);
  const bodyBytes = theirs.readUInt32LE(4);
  assert.equal(ours.subarray(-bodyBytes).toString("hex"), theirs.subarray(-bodyBytes).toString("hex"));
  assert.deepEqual(decodeMessage(ours), startCall);
});

/** What `busctl emit` sent for every type that is supported here. */
const EVERY_TYPE =
  "6c040101a7000000020000005700000001016f00040000002f612f62000000000201730003000000632e64000000000003017300010000004500000000000000080167" +
  "0021796e716975787464736f67766228797429617b73767d61287361287376292961790000ff00feffffff0000fdfffffffffffffffcffffffffffffffffffffffffff" +
  "ffff000000000000f83f0400000068c3a46c00000000040000002f6f2f70000561287376290001750000070000000100000001000000000000000200000000000000" +
  "1200000000000000010000006b00017300000000010000007600000020000000010000006e0000001000000000000000010000006d00016200000000000000000300" +
  "0000010203";

void test("every supported type decodes and encodes as in libsystemd", () => {
  const theirs = Buffer.from(EVERY_TYPE, "hex");
  const message = decodeMessage(theirs);
  const signature = "ynqiuxtdsogvb(yt)a{sv}a(sa(sv))ay";
  const body: readonly DbusValue[] = [
    255,
    -2,
    65_535,
    -3,
    4_294_967_295,
    -4n,
    18_446_744_073_709_551_615n,
    1.5,
    "häl",
    "/o/p",
    "a(sv)",
    { signature: "u", value: 7 },
    true,
    [1, 2n],
    [["k", { signature: "s", value: "v" }]],
    [["n", [["m", { signature: "b", value: false }]]]],
    Uint8Array.of(1, 2, 3),
  ];
  assert.deepEqual(message, {
    kind: "signal",
    serial: 2,
    path: "/a/b",
    interface: "c.d",
    member: "E",
    signature,
    body,
  });
  assert.equal(encodeMessage(message ?? assert.fail()).length, theirs.length);
  assert.deepEqual(marshal(signature, body), theirs.subarray(-theirs.readUInt32LE(4)));
});

void test("a big-endian message is decoded", () => {
  const message = Buffer.concat([
    Buffer.from("4202010100000008000000070000000f", "hex"),
    Buffer.from("0501750000000009", "hex"),
    Buffer.from("0801670001740000", "hex"),
    Buffer.from("0000000000000102", "hex"),
  ]);
  assert.deepEqual(decodeMessage(message), {
    kind: "reply",
    serial: 7,
    replyTo: 9,
    signature: "t",
    body: [258n],
  });
});

void test("random values survive marshalling and unmarshalling", () => {
  const property = fc.tuple(
    fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0")),
    fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => ({ signature: "t", value })),
      fc.uint8Array({ maxLength: 600 }).map((value) => ({ signature: "ay", value })),
      fc.boolean().map((value) => ({ signature: "b", value })),
    ),
  );
  fc.assert(
    fc.property(fc.array(property), (properties) => {
      assert.deepEqual(unmarshal("sa(sv)", marshal("sa(sv)", ["x", properties])), ["x", properties]);
    }),
  );
});

void test("malformed and oversized messages throw MalformedError", () => {
  const whole = Buffer.from(START_TRANSIENT_UNIT, "hex");
  assert.throws(() => messageLength(Buffer.from("00".repeat(16), "hex")), { name: "MalformedError" });
  const head = Buffer.from(whole.subarray(0, 16));
  const beforeBody = whole.length - whole.readUInt32LE(4);
  head.writeUInt32LE(DBUS_MESSAGE_BYTES_MAX - beforeBody, 4);
  assert.equal(messageLength(head), DBUS_MESSAGE_BYTES_MAX);
  head.writeUInt32LE(DBUS_MESSAGE_BYTES_MAX - beforeBody + 1, 4);
  assert.throws(() => messageLength(head), {
    name: "MalformedError",
    message: `a D-Bus message of ${DBUS_MESSAGE_BYTES_MAX + 1} bytes`,
  });
  assert.equal(messageLength(whole.subarray(0, 15)), undefined);
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 }), (at, byte) => {
      const broken = Buffer.from(whole);
      broken[at] = byte;
      try {
        decodeMessage(broken);
      } catch (error) {
        assert.equal((error as Error).name, "MalformedError");
      }
    }),
    { numRuns: 500 },
  );
});

void test("a signal with an unsupported body is dropped; such a reply is rejected", () => {
  const ofType = (kind: "signal" | "reply", letter: string) => {
    const bytes = encodeMessage({
      kind,
      serial: 1,
      path: "/p",
      interface: "i.i",
      member: "M",
      signature: "u",
      body: [7],
    });
    // The type code in the signature field, after that field's own type and length.
    bytes[bytes.indexOf("\x01u\0", 16, "latin1") + 1] = letter.charCodeAt(0);
    return bytes;
  };
  assert.deepEqual(decodeMessage(ofType("signal", "i"))?.body, [7]);
  assert.equal(decodeMessage(ofType("signal", "h")), undefined);
  assert.throws(() => decodeMessage(ofType("reply", "h")), { name: "MalformedError" });
});

void test("marshalling a value that does not match its signature throws BugError", () => {
  for (const [signature, value] of [
    ["t", 1],
    ["u", 1n],
    ["s", "a\0b"],
    ["b", 1],
    ["ay", [1]],
    ["(su)", ["a"]],
    ["v", "a"],
  ] as const) {
    assert.throws(() => marshal(signature, [value]), { name: "BugError" }, signature);
  }
  assert.throws(() => marshal("h", [0]), /not a D-Bus signature that is known here: "h"/);
  assert.throws(() => marshal("a(", [[]]), /not a D-Bus signature/);
});
