/** Describes how far the record of a run is behind the sources. */
export interface Age {
  readonly commits: number;
  /** Of those, the commits that changed something under `src`. */
  readonly sourceCommits: number;
}

/** Undefined: the history does not contain the record's commit. */
export function describeAge(age: Age | undefined): string {
  if (age === undefined) return "of a commit that is not in this history";
  return `${age.commits} commits old, ${age.sourceCommits} of them changed src`;
}
