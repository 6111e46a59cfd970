/**
 * Derives from inotify events which entries of a directory were removed and created again. Node reports only that an
 * entry appeared or disappeared, so two such events of one name are a removal and a creation. An atomic replacement is
 * one event, directly after the one by which its temporary file disappeared.
 */
export class EntryEvents {
  readonly #recent: EntryEvent[] = [];
  #added = 0;
  /** The number of the last reported event of each name. */
  readonly #reported = new Map<string, number>();

  /** An entry of this name appeared or disappeared. */
  add(name: string, nowMs: number): void {
    this.#added += 1;
    this.#recent.push({ name, number: this.#added, atMs: nowMs });
    const from = this.#recent.findIndex(({ atMs }) => nowMs - atMs < PAIR_MS);
    this.#recent.splice(0, Math.max(from, this.#recent.length - EVENTS_MAX));
    const first = this.#recent[0]?.number ?? 0;
    for (const [each, number] of this.#reported) if (number < first) this.#reported.delete(each);
  }

  clear(): void {
    this.#recent.length = 0;
    this.#reported.clear();
  }

  /** Names each entry once. `list` reads the directory. */
  async takeRecreated(list: () => Promise<readonly string[]>): Promise<ReadonlySet<string>> {
    const news = this.#recent.filter(({ name, number }) => number > (this.#reported.get(name) ?? 0));
    const counts = Map.groupBy(news, ({ name }) => name);
    if ([...counts.values()].every(({ length }) => length < 2)) return new Set();
    const events = [...this.#recent];
    const recreated = recreatedAmong(events, new Set(await list()), this.#reported);
    for (const { name, number } of events) if (recreated.has(name)) this.#reported.set(name, number);
    return recreated;
  }
}

interface EntryEvent {
  readonly name: string;
  readonly number: number;
  readonly atMs: number;
}

/** A removal and a creation that are further apart are seen by a reader of the directory in between. */
const PAIR_MS = 1_000;
/** A burst of other files costs no more memory. */
const EVENTS_MAX = 1_000;

function recreatedAmong(
  events: readonly EntryEvent[],
  present: ReadonlySet<string>,
  reported: ReadonlyMap<string, number>,
): ReadonlySet<string> {
  const [all, unexplained] = [new Map<string, number>(), new Map<string, number>()];
  const count = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  const isTemporary = (name: string) => (all.get(name) ?? 0) > 1 && (name.startsWith(".") || !present.has(name));
  let previous: string | undefined;
  for (const { name, number } of events) {
    count(all, name);
    const isReplacement = previous !== undefined && previous !== name && isTemporary(previous);
    if (!isReplacement && number > (reported.get(name) ?? 0)) count(unexplained, name);
    previous = name;
  }
  return new Set([...unexplained].flatMap(([name, times]) => (times > 1 && present.has(name) ? [name] : [])));
}
