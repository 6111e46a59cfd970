/** One text for one file of a group: what a value becomes, in either version. */
export interface Setting {
  readonly controller: string;
  readonly file: string;
  readonly text: string;
  /** Other texts by which the kernel shows the same value. */
  readonly alsoShownAs?: readonly string[];
  /** Not every kernel has the file. */
  readonly optional?: boolean;
}

const PAGE_BYTES = 4096n;

/** The kernel counts memory in pages and cuts off the rest. */
export const inWholePages = (bytes: bigint) => String(bytes - (bytes % PAGE_BYTES));

/** No process at all is spelled as one, since a limit of zero is not understood by all who read it. */
export const pidsText = (limit: bigint) => (limit > 0n ? String(limit) : limit === 0n ? "1" : "max");
