/** Parses the query of a log request into options, or into a refusal in the Go kubelet's words. */
import { goQuote } from "../../base/go-text.ts";
import { utf8Bytes } from "../../base/utf8.ts";
import type { LogView } from "./log-formatter.ts";
import type { LogStream } from "./log-line.ts";
import { type LogTime, LogTimeReader } from "./log-time.ts";

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly since: Since | undefined;
  /** As written in the request. */
  readonly stream: string | undefined;
}

type Since = { readonly kind: "seconds"; readonly ago: number } | { readonly kind: "time"; readonly time: LogTime };

export interface LogRefusal {
  readonly status: number;
  readonly text: string;
}

type Parsed<T> =
  | { readonly kind: "is"; readonly value: T }
  | { readonly kind: "refused"; readonly refusal: LogRefusal };

const refused = (status: number, text: string): Parsed<never> => ({ kind: "refused", refusal: { status, text } });
const undecodable = refused(400, '{"message": "Unable to decode query."}');
const invalid = refused(422, '{"message": "Invalid request."}');

/** The first value of each name; undefined if the name is not in the query. */
export type QueryReader = (name: string) => string | undefined;

const STREAMS: readonly string[] = ["All", "Stdout", "Stderr"];
const INT64_MAX = 2n ** 63n - 1n;

export function parseLogOptions(query: QueryReader): Parsed<LogOptions> {
  // "tail" is older than "tailLines" and takes precedence. "all" means no limit, even beside "tailLines".
  const legacyTail = query("tail") ?? "";
  const tailText = legacyTail === "" ? query("tailLines") : legacyTail === "all" ? undefined : legacyTail;
  const numbers = [tailText, query("limitBytes"), query("sinceSeconds")].map((text) =>
    text === undefined ? undefined : parseInt64(text),
  );
  const sinceText = query("sinceTime");
  const sinceTime = sinceText === undefined ? undefined : parseSinceTime(sinceText);
  if (numbers.includes("invalid") || sinceTime === "invalid") return undecodable;
  const [tailLines, limitBytes, sinceSeconds] = numbers.map((number) => (number === "invalid" ? undefined : number));
  const stream = query("stream");
  const isInvalid =
    (tailLines !== undefined && tailLines < 0) ||
    (limitBytes !== undefined && limitBytes < 1) ||
    (sinceSeconds !== undefined && (sinceSeconds < 1 || sinceTime !== undefined)) ||
    (stream !== undefined && (!STREAMS.includes(stream) || (stream !== "All" && tailLines !== undefined)));
  if (isInvalid) return invalid;
  const since = sinceOf(sinceSeconds, sinceTime);
  const flags = {
    follow: isSet(query("follow")),
    previous: isSet(query("previous")),
    timestamps: isSet(query("timestamps")),
  };
  return { kind: "is", value: { ...flags, tailLines, limitBytes, since, stream } };
}

const sinceOf = (ago: number | undefined, time: LogTime | undefined): Since | undefined =>
  ago !== undefined ? { kind: "seconds", ago } : time === undefined ? undefined : { kind: "time", time };

/** Only these two values mean false; an empty value means true. */
const isSet = (text: string | undefined): boolean =>
  text !== undefined && text !== "0" && text.toLowerCase() !== "false";

function parseInt64(text: string): number | "invalid" {
  if (!/^[+-]?\d+$/.test(text)) return "invalid";
  const value = BigInt(text.replace(/^\+/, ""));
  return value > INT64_MAX || value < -INT64_MAX - 1n ? "invalid" : Number(value);
}

/** An empty value, and the `null` that old clients send, mean the beginning of time. */
function parseSinceTime(text: string): LogTime | "invalid" {
  if (text === "" || text === "null") return { seconds: Number.NEGATIVE_INFINITY, nanos: 0 };
  const bytes = utf8Bytes(text);
  const reader = new LogTimeReader();
  if (!reader.read(bytes, 0, bytes.length) || reader.end !== bytes.length) return "invalid";
  return { seconds: reader.seconds, nanos: reader.nanos };
}

/** The requested streams. A single stream requires the feature gate. */
export function wantedStreams(stream: string | undefined, splits: boolean): Parsed<ReadonlySet<LogStream>> {
  if (stream === undefined || stream === "All") return { kind: "is", value: new Set(["stdout", "stderr"]) };
  if (splits) return { kind: "is", value: new Set([stream === "Stdout" ? "stdout" : "stderr"]) };
  const why = "Please enable PodLogsQuerySplitStreams feature gate in kubelet";
  return refused(400, `unable to return the given log stream: ${goQuote(stream)}. ${why}`);
}

export function logView(options: LogOptions, streams: ReadonlySet<LogStream>, wallMs: number): LogView {
  const { since, follow, tailLines, limitBytes, timestamps } = options;
  return {
    timestamps,
    since: since?.kind === "seconds" ? timeBefore(wallMs, since.ago) : since?.time,
    streams,
    bytesMax: limitBytes ?? Number.POSITIVE_INFINITY,
    // With follow, the tail only determines where the output begins. Without it, the tail is all of the output,
    // whatever is written meanwhile.
    linesMax: follow || tailLines === undefined ? Number.POSITIVE_INFINITY : tailLines,
  };
}

function timeBefore(wallMs: number, seconds: number): LogTime {
  const wholeSeconds = Math.floor(wallMs / 1000);
  return { seconds: wholeSeconds - seconds, nanos: Math.floor((wallMs - wholeSeconds * 1000) * 1_000_000) };
}
