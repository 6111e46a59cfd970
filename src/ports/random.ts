/** The only source of randomness: IDs, jitter, backoff. Seeded in the simulator. */
export interface Random {
  /** In [0, 1). */
  fraction(): number;
  /** A version 4 UUID. */
  uuid(): string;
}
