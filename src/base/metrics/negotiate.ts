/**
 * Chooses the metrics format from the Accept header, and compression from Accept-Encoding.
 *
 * The Go kubelet never answers in OpenMetrics, although Prometheus requests it first and accepts text as its second
 * choice. OpenMetrics writes histogram bounds differently ("1.0"), so rules that name a bound would match nothing.
 * Therefore only clients that accept no text format get OpenMetrics.
 */
import type { ExpositionFormat } from "./exposition.ts";

export interface Negotiated {
  readonly format: ExpositionFormat;
  readonly contentType: string;
}

interface Accepted {
  /** "text/plain", "text/*", "gzip". */
  readonly kind: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly weight: number;
}

const ESCAPINGS: readonly string[] = ["allow-utf-8", "underscores", "dots", "values"];

export function negotiateFormat(accept: string | undefined): Negotiated {
  const wanted = parseAccept(accept ?? "");
  const wantsOpenMetrics = wanted.some(isOpenMetrics) && !wanted.some(takesText);
  const escaping = escapingOf(wanted, wantsOpenMetrics ? isOpenMetrics : isText);
  return wantsOpenMetrics
    ? { format: "openMetrics", contentType: `application/openmetrics-text; version=1.0.0; charset=utf-8; ${escaping}` }
    : { format: "text", contentType: `text/plain; version=0.0.4; charset=utf-8; ${escaping}` };
}

export function takesGzip(acceptEncoding: string | undefined): boolean {
  const wanted = parseAccept(acceptEncoding ?? "");
  const named = wanted.find(({ kind }) => kind === "gzip") ?? wanted.find(({ kind }) => kind === "*");
  return named !== undefined && named.weight > 0;
}

const isText = ({ kind, parameters, weight }: Accepted): boolean => {
  const version = parameters.get("version") ?? "0.0.4";
  return weight > 0 && kind === "text/plain" && version === "0.0.4";
};

const takesText = (accepted: Accepted): boolean =>
  isText(accepted) || (accepted.weight > 0 && (accepted.kind === "*/*" || accepted.kind === "text/*"));

const isOpenMetrics = ({ kind, weight }: Accepted): boolean => weight > 0 && kind === "application/openmetrics-text";

/**
 * Our metric names need no escaping, but the Go kubelet always states one. The last valid `escaping` parameter up to
 * the answered clause wins.
 */
function escapingOf(wanted: readonly Accepted[], isAnswered: (accepted: Accepted) => boolean): string {
  let escaping = "underscores";
  for (const accepted of wanted) {
    const asked = accepted.parameters.get("escaping");
    if (asked !== undefined && ESCAPINGS.includes(asked)) escaping = asked;
    if (isAnswered(accepted)) break;
  }
  return `escaping=${escaping}`;
}

/** Sorted by weight, highest first; equal weights keep the order of the header. */
function parseAccept(header: string): readonly Accepted[] {
  const all = header
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map(parseAccepted);
  return all.toSorted((a, b) => b.weight - a.weight);
}

function parseAccepted(text: string): Accepted {
  const [kind = "", ...rest] = text.split(";").map((part) => part.trim());
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const equals = part.indexOf("=");
    if (equals < 0) continue;
    parameters.set(part.slice(0, equals).trim().toLowerCase(), unquoted(part.slice(equals + 1).trim()));
  }
  const weight = Number(parameters.get("q") ?? "1");
  return { kind: kind.toLowerCase(), parameters, weight: Number.isNaN(weight) ? 1 : weight };
}

const unquoted = (text: string): string => (/^".*"$/.test(text) ? text.slice(1, -1) : text);
