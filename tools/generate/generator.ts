/** What `npm run generate` runs: one maker of committed files. */
export interface Generator {
  /** How it is asked for on the command line. */
  readonly name: string;
  /** The folder it owns entirely, below the repository's root. */
  readonly output: string;
  /** Writes everything into `folder`, which exists and is empty. The same input makes the same bytes. */
  make(folder: string): Promise<void>;
}
