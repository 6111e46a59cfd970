/**
 * Lists every difference between the responses of the two kubelets that is intended or waits for a ledger row. Each
 * entry has the reason and Deckhand's value. An entry that no response needs fails the suite.
 */
import type { Facts } from "./facts.ts";

export interface Difference {
  /** The ledger row that the difference belongs to. */
  readonly row: string;
  readonly why: string;
  /** Matches the name of the question. */
  readonly asked: RegExp;
  /** Matches the name of the fact. */
  readonly fact: RegExp;
  /** Omitted: any value of the Go kubelet, including none. */
  readonly go?: RegExp;
  readonly ours: RegExp;
}

const ANY = /./;
const NOTHING = /^undefined$/;
const PLAIN_TEXT = /^text\/plain; charset=utf-8$/;
const METRICS_TEXT = /^text\/plain; version=0\.0\.4; charset=utf-8; escaping=underscores$/;
/** Deckhand's health checks, one per line. */
const CHECKS = String.raw`(?:\[\+\](?:ping|log|syncloop) (?:excluded: )?ok\n){3}(?:warn: .*\n)?healthz check passed\n`;

const UNCLEAN = {
  row: "20.3",
  why: "a path that could be read in two ways is rejected, where the Go kubelet cleans it and redirects to the clean one",
  asked: /^(?:api|readOnly) .*(?:\/\/|\/\.|%2e|%2f|%00)/,
};

const UNCLEAN_HEALTH = {
  row: "1.19",
  why: "a path that could be read in two ways is not found on the port for health, where the Go kubelet redirects",
  asked: /^health .*\/\//,
};

const PROFILES = {
  row: "20.16",
  why: "Deckhand has V8's profiles and a list of them",
  asked: /^api operator GET \/debug\/pprof\/$/,
};

export const DIFFERENCES: readonly Difference[] = [
  {
    row: "20.3",
    why: "no browser may guess the type of any answer; the Go kubelet forbids it with some of its errors only",
    asked: ANY,
    fact: /^header x-content-type-options$/,
    go: NOTHING,
    ours: /^nosniff$/,
  },
  {
    row: "20.3",
    why: "a client that is unknown, or has no permission, does not learn which paths exist",
    asked: /^api (?:nobody|stranger|badToken|poor) \w+ \/(?:none)?$/,
    fact: /^(?:status|body)$/,
    go: /^404/,
    ours: /^40[13]$|^Unauthorized$|^Forbidden /,
  },
  { ...UNCLEAN, fact: /^status$/, go: /^(?:307|404)$/, ours: /^400$/ },
  { ...UNCLEAN, fact: /^body$/, go: /^<a href="|^404/, ours: /^400 Bad Request$/ },
  { ...UNCLEAN, fact: /^header location$/, ours: NOTHING },
  { ...UNCLEAN, fact: /^header content-type$/, go: /^text\/html/, ours: PLAIN_TEXT },
  { ...UNCLEAN_HEALTH, fact: /^status$/, go: /^307$/, ours: /^404$/ },
  { ...UNCLEAN_HEALTH, fact: /^body$/, go: /^<a href="/, ours: /^404 page not found\n$/ },
  { ...UNCLEAN_HEALTH, fact: /^header location$/, ours: NOTHING },
  { ...UNCLEAN_HEALTH, fact: /^header content-type$/, go: /^text\/html/, ours: PLAIN_TEXT },
  {
    row: "1.19",
    why: "the row wants these checks on the port for health too, where this Go kubelet has ping alone",
    asked: /^health operator GET \/healthz(?:\?verbose|\/log$|\/syncloop$)/,
    fact: /^(?:status|body)$/,
    ours: new RegExp(`^200$|^ok$|^${CHECKS}$`),
  },
  {
    row: "20.6",
    why: "waits for device plugins (16), whose check it is",
    asked: /^(?:api|readOnly) operator GET \/healthz(?:\?verbose|\/device-plugin$)/,
    fact: /^(?:status|body)$/,
    go: /^200$|^ok$|\[\+\]device-plugin ok\n/,
    ours: new RegExp(`^404$|^404 page not found\n$|^${CHECKS}$`),
  },
  {
    row: "8.5",
    why: "what a pod as a whole has is in its status with its phase; the Go kubelet writes it one look later",
    asked: /\/(?:pods|%70ods)\b/,
    fact: /^\.items\[several\]\.status\.resources\.limits\.(?:cpu|memory)$/,
    go: /^"(?:100m|64Mi)"$/,
    ours: NOTHING,
  },
  {
    row: "20.13",
    why: "metrics are served as text: whoever asks for Protocol Buffers takes text too",
    asked: /accept:application\/vnd\.google\.protobuf/,
    fact: /^header content-type$/,
    ours: METRICS_TEXT,
  },
  {
    row: "20.13",
    why: "a client cannot erase what was counted of the checks",
    asked: /DELETE \/metrics\/slis$/,
    fact: /^header content-type$/,
    ours: METRICS_TEXT,
  },
  {
    row: "20.15",
    why: "flags that only Deckhand has",
    asked: /\/flagz\b/,
    fact: /^(?:\.flags\.|line )deckhand-/,
    go: NOTHING,
    ours: /^"?(?:true|false|strict|working-set|\[\])"?$/,
  },
  {
    row: "20.15",
    why: "where Go programs name their Go version, Deckhand names the Node.js that runs it",
    asked: /\/statusz\b/,
    fact: /^(?:\.goVersion|line Go version)$/,
    ours: /^"?node\d/,
  },
  { ...PROFILES, fact: /^status$/, ours: /^200$/ },
  { ...PROFILES, fact: /^body$/, ours: NOTHING },
  {
    row: "20.16",
    why: "the list of profiles is read with GET alone",
    asked: /^api operator (?!GET)[A-Z]+ \/debug\/pprof\/$/,
    fact: /^(?:status|body|header allow)$/,
    go: /^404|^undefined$/,
    ours: /^405$|^405: Method Not Allowed$|^GET$/,
  },
  {
    row: "20.16",
    why: "profiles that only Go programs have are unknown",
    asked: /\/debug\/pprof\/(?:cmdline|symbol|goroutine|none)$/,
    fact: /^(?:status|body|header (?:content-type|content-disposition|x-go-pprof))$/,
    ours: /^404$|^Unknown profile\n$|^text\/plain; charset=utf-8$|^undefined$/,
  },
  {
    row: "19.6",
    why: "waits for node logs: until then they are disabled",
    asked: /^api operator GET \/logs\//,
    fact: /^(?:status|body|header content-type)$/,
    ours: /^405$|^logs endpoint is disabled\.\n$|^text\/plain; charset=utf-8$/,
  },
  {
    row: "20.11",
    why: "an error has the type of text; the Go kubelet gives none where it had prepared for a log",
    asked: /\/containerLogs\/NS\//,
    fact: /^header content-type$/,
    go: NOTHING,
    ours: PLAIN_TEXT,
  },
];

/**
 * Returns Deckhand's facts with every intended difference replaced by the Go kubelet's value, so that the rest must be
 * equal. Counts in `fired` how often each difference was needed.
 */
export function withoutIntended(asked: string, go: Facts, ours: Facts, fired: Map<Difference, number>): Facts {
  const facts = new Map(ours);
  for (const fact of new Set([...go.keys(), ...ours.keys()])) {
    const [theirs, own] = [go.get(fact), ours.get(fact)];
    if (theirs === own) continue;
    const intended = DIFFERENCES.find(
      (each) =>
        each.asked.test(asked) &&
        each.fact.test(fact) &&
        (each.go?.test(String(theirs)) ?? true) &&
        each.ours.test(String(own)),
    );
    if (intended === undefined) continue;
    fired.set(intended, (fired.get(intended) ?? 0) + 1);
    if (theirs === undefined) facts.delete(fact);
    else facts.set(fact, theirs);
  }
  return facts;
}
