/** The text to write to one cgroup file, for either cgroup version. */
export interface Setting {
  readonly controller: string;
  readonly file: string;
  readonly text: string;
  /** Other texts with which the kernel shows the same value. */
  readonly alsoShownAs?: readonly string[];
  /** True if not every kernel has the file. */
  readonly optional?: boolean;
}

const PAGE_BYTES = 4096n;

/** The kernel counts memory in whole pages and rounds down. */
export const inWholePages = (bytes: bigint) => String(bytes - (bytes % PAGE_BYTES));

/** A limit of zero is written as one, because not every reader of the file understands zero. */
export const pidsText = (limit: bigint) => (limit > 0n ? String(limit) : limit === 0n ? "1" : "max");
