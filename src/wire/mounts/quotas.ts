/** The Quotas port on this machine: helper processes run xfs_quota and keep /etc/projects and /etc/projid. */
import type { Quotas } from "../../ports/quotas.ts";
import type { Helpers } from "./helpers.ts";

/** They write the same files: one request at a time. */
const GROUP = "files of projects";

export const quotaCalls = (helpers: Helpers): Quotas => ({
  assign: (path, signal) =>
    helpers.ask({ kind: "assignProject", path }, { operation: "assign a project to", path, signal, group: GROUP }),
  usage: (path, project, signal) =>
    helpers.ask({ kind: "projectUsage", path, project }, { operation: "measure the project of", path, signal }),
  releaseRemoved: (directory, signal) =>
    helpers.ask(
      { kind: "releaseProjects", directory },
      { operation: "release projects in", path: directory, signal, group: GROUP },
    ),
});
