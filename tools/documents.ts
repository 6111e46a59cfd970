/** The Markdown pages of the repository. */
import { globSync } from "node:fs";
import { repositoryRoot } from "./repository.ts";

export const documents: readonly string[] = globSync(["*.md", "docs/**/*.md", "{src,sim,test,bench}/**/README.md"], {
  cwd: repositoryRoot,
}).toSorted();
