/** The only source of chance: ids, jitter, back-off. Seeded in the simulator. */
export interface Random {
  /** From 0 up to, but not including, 1. */
  fraction(): number;
  /** A version 4 UUID. */
  uuid(): string;
}
