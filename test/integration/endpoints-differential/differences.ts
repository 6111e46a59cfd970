/**
 * Every difference between the two kubelets' answers that is meant or that waits for a row, each with its reason. One that no answer needs
 * fails the suite, unless chance decides whether one does.
 */
import type { Facts } from "./facts.ts";

export interface Difference {
  /** The row of the list of behaviours that it belongs to. */
  readonly row: string;
  readonly why: string;
  /** The name of the question. */
  readonly asked: RegExp;
  /** The name of the fact. */
  readonly fact: RegExp;
  /** Undefined: whatever the Go kubelet says, or that it says nothing. */
  readonly go?: RegExp;
  readonly ours: RegExp;
}

const ANY = /./;
const NOTHING = /^undefined$/;

export const DIFFERENCES: readonly Difference[] = [
  {
    row: "20.3",
    why: "no browser is to guess the type of anything that a node says; the Go kubelet forbids it with some of its errors only",
    asked: ANY,
    fact: /^header x-content-type-options$/,
    go: NOTHING,
    ours: /^nosniff$/,
  },
  {
    row: "20.3",
    why: "who is not known, or may do nothing, does not learn which paths there are",
    asked: /^api (?:nobody|stranger|badToken|poor) \w+ \/(?:none)?$/,
    fact: /^(?:status|body)$/,
    go: /^404/,
    ours: /^40[13]|^Unauthorized$|^Forbidden /,
  },
  {
    row: "20.3",
    why: "a path that could be read in two ways is refused, where the Go kubelet cleans it and sends there",
    asked: /\/\/|\/\.|%2e|%2f|%00/,
    fact: /^(?:status|body|header (?:location|content-type))$/,
    ours: ANY,
  },
  {
    row: "1.19",
    why: "the row asks for these checks on the port for health too, where this Go kubelet has ping alone",
    asked: /^health operator GET \/healthz(?:\?verbose|\/log$|\/syncloop$)/,
    fact: /^(?:status|body)$/,
    ours: ANY,
  },
  {
    row: "20.6",
    why: "waits for device plugins (16), whose check it is",
    asked: /^(?:api|readOnly) operator GET \/healthz(?:\?verbose|\/device-plugin$)/,
    fact: /^(?:status|body)$/,
    go: /^200$|^ok$|\[\+\]device-plugin ok\n/,
    ours: ANY,
  },
  {
    row: "20.4",
    why: "the metadata is the newest that the API server sent; the Go kubelet keeps what it saw first until the pod itself changes",
    asked: /\/(?:pods|%70ods)\b/,
    fact: /\.metadata\.managedFields\[/,
    ours: ANY,
  },
  {
    row: "8.5",
    why: "what a pod as a whole has is told with its phase, by the Go kubelet one look later, and on cgroup v1 as the kernel's largest number where nothing limits it",
    asked: /\/(?:pods|%70ods)\b/,
    fact: /\.status\.(?:resources|allocatedResources)\b/,
    ours: ANY,
  },
  {
    row: "20.4",
    why: "a pod that crashes is somewhere on its way at any moment; how it is told there is compared elsewhere",
    asked: /\/(?:pods|%70ods|runningpods\/)$/,
    fact: /^\.items\[crashing\]\.(?:status|spec\.containers)\b/,
    ours: ANY,
  },
  {
    row: "20.13",
    why: "metrics are told as text: who asks for Protocol Buffers takes that too",
    asked: /accept:application\/vnd\.google\.protobuf/,
    fact: /^header content-type$/,
    ours: ANY,
  },
  {
    row: "20.13",
    why: "what was counted of the checks is not erased by who asks for it",
    asked: /DELETE \/metrics\/slis$/,
    fact: /^header content-type$/,
    ours: ANY,
  },
  {
    row: "20.15",
    why: "flags of our own",
    asked: /\/flagz\b/,
    fact: /^(?:\.flags\.|line )deckhand-/,
    go: NOTHING,
    ours: ANY,
  },
  {
    row: "20.15",
    why: "where Go programs name their Go, what runs this one is named",
    asked: /\/statusz\b/,
    fact: /^(?:\.goVersion|line Go version)$/,
    ours: /^"?node\d/,
  },
  {
    row: "20.16",
    why: "profiles are V8's, with a list of them",
    asked: /\/debug\/pprof\/(?:cmdline|symbol|goroutine|none)?$/,
    fact: /^(?:status|body|header (?:allow|content-type|content-disposition|x-go-pprof))$/,
    ours: ANY,
  },
  {
    row: "19.6",
    why: "waits for node logs: until then they are said to be closed",
    asked: /^api operator GET \/logs\//,
    fact: /^(?:status|body|header content-type)$/,
    ours: /^405$|^logs endpoint is disabled\.\n$|^text\/plain/,
  },
  {
    row: "20.11",
    why: "an error has the type of text; the Go kubelet gives none where it had prepared for a log",
    asked: /\/containerLogs\/NS\//,
    fact: /^header content-type$/,
    go: NOTHING,
    ours: ANY,
  },
];

/**
 * Deckhand's facts with every intended difference replaced by what the Go kubelet says, so that the rest must be equal. Counts in
 * `fired` how often each difference was needed.
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
