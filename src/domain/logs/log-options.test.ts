import assert from "node:assert/strict";
import { test } from "node:test";
import { logView, parseLogOptions, wantedStreams } from "./log-options.ts";

const parse = (query: string) => {
  const values = new URLSearchParams(query);
  return parseLogOptions((name) => values.get(name) ?? undefined);
};
const optionsOf = (query: string) => {
  const parsed = parse(query);
  return parsed.kind === "is" ? parsed.value : assert.fail(`${query} is refused: ${parsed.refusal.text}`);
};
const refusalOf = (query: string) => {
  const parsed = parse(query);
  return parsed.kind === "refused" ? `${parsed.refusal.status} ${parsed.refusal.text}` : "taken";
};

const NOTHING = {
  follow: false,
  previous: false,
  timestamps: false,
  tailLines: undefined,
  limitBytes: undefined,
  since: undefined,
  stream: undefined,
};

test("[20.11] a query without log options requests the whole log", () => {
  assert.deepEqual(optionsOf(""), NOTHING);
  assert.deepEqual(optionsOf("pretty=true&container=x"), NOTHING);
});

test("[20.11] a flag is set by any value but 0 and false", () => {
  for (const word of ["follow", "follow=", "follow=true", "follow=1", "follow=no"]) {
    assert.equal(optionsOf(word).follow, true, word);
  }
  for (const word of ["follow=0", "follow=false", "follow=FALSE"]) assert.equal(optionsOf(word).follow, false, word);
  const { previous, timestamps } = optionsOf("previous=true&timestamps=true");
  assert.deepEqual([previous, timestamps], [true, true]);
});

test("[20.11] the legacy tail takes precedence over tailLines, and tail=all is no limit", () => {
  assert.equal(optionsOf("tailLines=5").tailLines, 5);
  assert.equal(optionsOf("tailLines=5&tail=7").tailLines, 7);
  assert.equal(optionsOf("tailLines=5&tail=").tailLines, 5);
  assert.equal(optionsOf("tailLines=5&tail=all").tailLines, undefined);
  assert.equal(optionsOf("tailLines=0").tailLines, 0);
  assert.equal(optionsOf("tailLines=%2B5").tailLines, 5);
});

test("[19.4] the start of the log is given by sinceSeconds or sinceTime", () => {
  assert.deepEqual(optionsOf("sinceSeconds=3").since, { kind: "seconds", ago: 3 });
  const time = { seconds: Date.parse("2026-01-02T03:04:05Z") / 1000, nanos: 250_000_000 };
  assert.deepEqual(optionsOf("sinceTime=2026-01-02T05:04:05.25%2B02:00").since, { kind: "time", time });
  const beginning = { kind: "time", time: { seconds: Number.NEGATIVE_INFINITY, nanos: 0 } };
  assert.deepEqual([optionsOf("sinceTime=").since, optionsOf("sinceTime=null").since], [beginning, beginning]);
});

test("[19.4] an undecodable query is 400, an invalid one 422, each with the Go kubelet's message", () => {
  const undecodable = '400 {"message": "Unable to decode query."}';
  for (const query of [
    "tailLines=x",
    "tailLines=",
    "tail=x",
    "limitBytes=1.5",
    "limitBytes=9223372036854775808",
    "sinceSeconds=1s",
    "sinceTime=yesterday",
    "sinceTime=2026-01-02T03:04:05Zx",
  ]) {
    assert.equal(refusalOf(query), undecodable, query);
  }
  const invalid = '422 {"message": "Invalid request."}';
  for (const query of [
    "tailLines=-1",
    "tail=-1",
    "limitBytes=0",
    "limitBytes=-9223372036854775808",
    "sinceSeconds=0",
    "sinceSeconds=5&sinceTime=2026-01-02T03:04:05Z",
    "sinceSeconds=5&sinceTime=",
    "stream=both",
    "stream=",
    "stream=Stdout&tailLines=1",
  ]) {
    assert.equal(refusalOf(query), invalid, query);
  }
  assert.equal(refusalOf("stream=All&tailLines=1"), "taken");
});

test("[19.5] a single stream is refused unless the gate is enabled", () => {
  assert.deepEqual(wantedStreams("Stderr", false), {
    kind: "refused",
    refusal: {
      status: 400,
      text: 'unable to return the given log stream: "Stderr". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
    },
  });
  const both = { kind: "is", value: new Set(["stdout", "stderr"]) };
  assert.deepEqual([wantedStreams("All", false), wantedStreams(undefined, true)], [both, both]);
  assert.deepEqual(wantedStreams("Stdout", true), { kind: "is", value: new Set(["stdout"]) });
});

test("[19.4] sinceSeconds counts from now, and tailLines sets no line limit when following", () => {
  const streams = new Set(["stdout"] as const);
  const view = logView(optionsOf("sinceSeconds=10&tailLines=3&limitBytes=7"), streams, 1_000_123.5);
  assert.deepEqual(view, {
    timestamps: false,
    since: { seconds: 990, nanos: 123_500_000 },
    streams,
    bytesMax: 7,
    linesMax: 3,
  });
  assert.equal(logView(optionsOf("tailLines=3&follow=1"), streams, 0).linesMax, Number.POSITIVE_INFINITY);
});
