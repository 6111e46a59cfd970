/** Lists, complete or in pages. All pages of one list have the same resource version. */
import type { ApiObject, ListOptions, Page, Selection } from "../../src/ports/api-server.ts";
import type { Random } from "../../src/ports/random.ts";
import type { Kind } from "./kinds.ts";
import { badRequest, Refusal } from "./refusal.ts";
import { selectorOf } from "./selectors.ts";
import type { Store } from "./store.ts";
import { asItem, type Stored } from "./stored.ts";

const PAGINGS_MAX = 100;

interface Rest {
  readonly items: readonly Stored[];
  readonly resourceVersion: string;
}

export class Lists {
  readonly #store: Store;
  readonly #random: Random;
  /** Remaining items of lists whose first pages were read, oldest first. */
  readonly #rests = new Map<string, Rest>();
  readonly #expired = new Set<string>();

  constructor(store: Store, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  page(kind: Kind, selection: Selection, options: ListOptions): Page<ApiObject> {
    const { items, resourceVersion } = this.#items(kind, selection, options);
    const limit = options.limit ?? 0;
    if (limit <= 0 || items.length <= limit) return { items: items.map(asItem), resourceVersion };
    const continueToken = this.#random.uuid();
    this.#rests.set(continueToken, { items: items.slice(limit), resourceVersion });
    for (const oldest of this.#rests.keys()) {
      if (this.#rests.size <= PAGINGS_MAX) break;
      this.#rests.delete(oldest);
      this.#expired.add(oldest);
    }
    return { items: items.slice(0, limit).map(asItem), resourceVersion, continueToken };
  }

  /** Expires all continue tokens issued so far. */
  expireTokens(): void {
    for (const token of this.#rests.keys()) this.#expired.add(token);
    this.#rests.clear();
  }

  #items(kind: Kind, selection: Selection, { continueToken, resourceVersion }: ListOptions): Rest {
    if (continueToken !== undefined) {
      const rest = this.#rests.get(continueToken);
      if (rest !== undefined) return rest;
      if (this.#expired.has(continueToken))
        throw new Refusal(410, "Expired", "the provided continue parameter is too old");
      throw badRequest("continue key is not valid");
    }
    if (resourceVersion !== undefined && Number(resourceVersion) > this.#store.version)
      throw new Refusal(504, "Timeout", `Too large resource version: ${resourceVersion}`);
    const selector = selectorOf(kind, selection);
    const items = this.#store.all(kind, selector.fits);
    return { items, resourceVersion: String(this.#store.version) };
  }
}
