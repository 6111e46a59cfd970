/** A generator of committed files that `npm run generate` runs. */
export interface Generator {
  /** Its name on the command line. */
  readonly name: string;
  /** The generated directory, relative to the repository's root. A run replaces it completely. */
  readonly output: string;
  /** Writes everything into `directory`, which exists and is empty. The same input gives the same bytes. */
  make(directory: string): Promise<void>;
}
