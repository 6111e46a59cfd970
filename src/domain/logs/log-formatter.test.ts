import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LogFormatter, type LogView } from "./log-formatter.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (parts: readonly Uint8Array[]) => Buffer.concat(parts).toString();

const ALL: LogView = {
  timestamps: false,
  since: undefined,
  streams: new Set(["stdout", "stderr"]),
  bytesMax: Number.POSITIVE_INFINITY,
  linesMax: Number.POSITIVE_INFINITY,
};

/** The whole log, read in pieces that end at these offsets; lines longer than `heldMax` are not buffered. */
function shown(log: Uint8Array, view: Partial<LogView> = {}, cuts: readonly number[] = [], heldMax = Infinity) {
  const formatter = new LogFormatter({ ...ALL, ...view });
  const out: Uint8Array[] = [];
  let held = new Uint8Array();
  for (const [index, end] of [...cuts, log.length].entries()) {
    if (formatter.state.kind !== "open") break;
    const piece = Buffer.concat([held, log.subarray(index === 0 ? 0 : cuts[index - 1], end)]);
    const { used, output } = formatter.take(piece);
    out.push(output);
    held = Uint8Array.from(piece.subarray(used));
    if (held.length > heldMax && formatter.state.kind === "open") {
      out.push(formatter.takeLong(held));
      held = new Uint8Array();
    }
  }
  if (formatter.state.kind === "open") out.push(formatter.takeRest(held));
  return { text: text(out), bytes: Buffer.concat(out), state: formatter.state, leftOut: formatter.linesLeftOut };
}

const STAMP = "2026-01-02T03:04:05.000000006Z";
const LOG = bytes(
  [
    "2026-01-02T03:04:05.000000006Z stdout F one\n",
    "2026-01-02T03:04:06.5Z stderr P two, \n",
    "2026-01-02T03:04:07Z stderr F and its end\n",
    "2026-01-02T05:04:08.25+02:00 stdout F \n",
    "2026-01-02T03:04:09.000000001Z stdout F:more:tags last\n",
  ].join(""),
);

test("[19.3] line prefixes are removed, and parts of a line are joined", () => {
  assert.equal(shown(LOG).text, "one\ntwo, and its end\n\nlast\n");
});

test("[19.4] with timestamps each line begins with its own once, with nine digits and in its own zone", () => {
  assert.equal(
    shown(LOG, { timestamps: true }).text,
    [
      "2026-01-02T03:04:05.000000006Z one\n",
      "2026-01-02T03:04:06.500000000Z two, and its end\n",
      "2026-01-02T05:04:08.250000000+02:00 \n",
      "2026-01-02T03:04:09.000000001Z last\n",
    ].join(""),
  );
});

test("[19.4] lines before the since time are left out, by each line's timestamp in its own zone", () => {
  const at = (iso: string, nanos = 0) => ({ seconds: Date.parse(iso) / 1000, nanos });
  assert.equal(shown(LOG, { since: at("2026-01-02T03:04:08Z", 250_000_000) }).text, "\nlast\n");
  assert.equal(shown(LOG, { since: at("2026-01-02T03:04:08Z", 250_000_001) }).text, "last\n");
  assert.equal(shown(LOG, { since: at("2026-01-02T03:04:10Z") }).text, "");
});

test("[19.4] a byte limit cuts the line that reaches it, its timestamp included, and ends reading", () => {
  assert.deepEqual(pick(shown(LOG, { bytesMax: 6 })), ["one\ntw", "done"]);
  assert.deepEqual(pick(shown(LOG, { bytesMax: 4 })), ["one\n", "done"]);
  assert.deepEqual(pick(shown(LOG, { bytesMax: 12, timestamps: true })), ["2026-01-02T0", "done"]);
  assert.deepEqual(pick(shown(LOG, { bytesMax: 31, timestamps: true })), [`${STAMP} `, "done"]);
  const pick2 = pick(shown(LOG, { bytesMax: 3, streams: new Set(["stderr"]) }));
  assert.deepEqual(pick2, ["two", "done"], "what is not shown does not count");
});

const pick = ({ text: all, state }: ReturnType<typeof shown>) => [all, state.kind];

test("[19.4] a line limit counts lines of the log, shown or not", () => {
  assert.deepEqual(pick(shown(LOG, { linesMax: 3 })), ["one\ntwo, and its end\n", "done"]);
  assert.deepEqual(pick(shown(LOG, { linesMax: 3, streams: new Set(["stdout"]) })), ["one\n", "done"]);
  assert.deepEqual(pick(shown(LOG, { linesMax: 0 })), ["", "done"]);
});

test("[19.5] stdout and stderr can be read separately", () => {
  assert.equal(shown(LOG, { streams: new Set(["stdout"]) }).text, "one\n\nlast\n");
  assert.equal(shown(LOG, { streams: new Set(["stderr"]) }).text, "two, and its end\n");
});

test("[19.3] Docker's JSON format is read too, and the first line decides the format", () => {
  const docker = bytes(
    [
      '{"log":"one\\n","stream":"stdout","time":"2016-10-20T18:39:20.57606443Z"}\n',
      '{"log":"two \\u00e9","stream":"stderr","time":"2016-10-20T18:39:21Z"}\n',
      "2026-01-02T03:04:07Z stderr F not of this format\n",
      '{"log":"three\\n","stream":"stdout","time":"tomorrow"}\n',
      '{"log":" end\\n","stream":"stdout","time":"2016-10-20T18:39:22Z"}\n',
    ].join(""),
  );
  const { text: all, leftOut } = shown(docker, { timestamps: true });
  assert.equal(all, "2016-10-20T18:39:20.576064430Z one\n2016-10-20T18:39:21.000000000Z two é end\n");
  assert.equal(leftOut, 2);
  const strange = shown(bytes('{"log":"one\\n","stream":"third"}\n'));
  assert.deepEqual(strange.state, { kind: "failed", why: 'unexpected stream type "third"' });
});

test("[19.3] an unknown format is refused with its first line, and later invalid lines are left out", () => {
  assert.deepEqual(shown(Buffer.from([0x66, 0xff, 0x22, 0x0a, 0x61])).state, {
    kind: "failed",
    why: 'failed to get parse function: unsupported log format: "f\\xff\\"\\n"',
  });
  const bad = [
    "no time at all\n",
    "2026-13-02T03:04:05Z stdout F month\n",
    "2026-02-30T03:04:05Z stdout F day\n",
    "2026-01-02T24:04:05Z stdout F hour\n",
    "2026-01-02T03:04:60Z stdout F second\n",
    "2026-01-02T03:04:05.Z stdout F no digits\n",
    "2026-01-02T03:04:05+25:00 stdout F offset\n",
    "2026-01-02T03:04:05 stdout F no zone\n",
    "2026-01-02T03:04:05Z stdin F stream\n",
    "2026-01-02T03:04:05Z stdout F\n",
    "2026-01-02T03:04:05Z stdout\n",
    "2026-01-02T03:04:05Z\n",
    "\n",
  ];
  const { text: all, leftOut } = shown(Buffer.concat([LOG, bytes(bad.join("")), LOG]));
  assert.equal(all, "one\ntwo, and its end\n\nlast\n".repeat(2));
  assert.equal(leftOut, bad.length);
});

test("a last line without a line break is shown", () => {
  assert.equal(shown(LOG.subarray(0, LOG.length - 3)).text, "one\ntwo, and its end\n\nla");
});

test("[19.3] the output does not depend on how the input is split or how much of a line is buffered", () => {
  const line = fc
    .tuple(
      fc.integer({ min: 0, max: 2_000_000_000_000 }),
      fc.constantFrom("stdout", "stderr"),
      fc.constantFrom("F", "P", "F:x", "P:x"),
      fc.uint8Array({ maxLength: 40 }).map((content) => content.map((byte) => (byte === 0x0a ? 0x20 : byte))),
      fc.integer({ min: 0, max: 20 }),
    )
    .map(([ms, stream, tag, content, odd]) =>
      odd === 0
        ? Buffer.from("a line that is none\n")
        : Buffer.concat([bytes(`${new Date(ms).toISOString()} ${stream} ${tag} `), content, bytes("\n")]),
    );
  const view = fc.record({
    timestamps: fc.boolean(),
    since: fc.option(fc.record({ seconds: fc.integer({ min: 0, max: 2_000_000_000 }), nanos: fc.constant(5) }), {
      nil: undefined,
    }),
    streams: fc.constantFrom<LogView["streams"]>(ALL.streams, new Set(["stdout"])),
    bytesMax: fc.constantFrom(Number.POSITIVE_INFINITY, 100, 37),
    linesMax: fc.constantFrom(Number.POSITIVE_INFINITY, 5, 1),
  });
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 20 }),
      view,
      fc.array(fc.nat(1500)),
      fc.nat(60),
      (lines, wanted, at, held) => {
        const log = Buffer.concat([bytes(`${STAMP} stdout F first\n`), ...lines]);
        const cuts = at.filter((cut) => cut < log.length).sort((a, b) => a - b);
        const whole = shown(log, wanted);
        assert.deepEqual(shown(log, wanted, cuts).bytes, whole.bytes);
        // A prefix that is cut cannot be parsed in parts: the longest is 45 bytes.
        const inParts = shown(log, wanted, cuts, held + 45);
        assert.deepEqual(inParts.bytes, whole.bytes);
        assert.equal(inParts.leftOut, whole.leftOut);
      },
    ),
    { numRuns: 500 },
  );
});
