import assert from "node:assert/strict";
import { test } from "node:test";
import {
  linesOf,
  type ProjectFiles,
  projectOf,
  textOf,
  unnamedProjects,
  withoutDirectories,
  withProject,
} from "./project-files.ts";

const FILES: ProjectFiles = {
  projects: linesOf("# of the administrator\n42:/srv/data\n1048577:/pods/a\n1048579:/pods/b:with:colons\n"),
  names: linesOf("# names\ndata:42\nvolume1048577:1048577\nvolume1048579:1048579\nreserved:1048580\n"),
};

void test("[21.9] the project of a directory is found, and a new one is a number that neither file names", () => {
  const found = ["/srv/data", "/pods/a", "/pods/b:with:colons", "/pods", "/pods/a/b"].map((path) =>
    projectOf(FILES, path),
  );
  assert.deepEqual(found, [42, 1_048_577, 1_048_579, undefined, undefined]);
  assert.deepEqual(unnamedProjects(FILES, 3), [1_048_578, 1_048_581, 1_048_582]);
  assert.deepEqual(unnamedProjects({ projects: [], names: [] }, 1), [1_048_577]);
});

void test("[21.9] a project is added to both files as the Go kubelet writes it, and all other lines stay", () => {
  const { projects, names } = withProject(FILES, { project: 1_048_578, path: "/pods/c" });
  assert.equal(textOf(projects), `${textOf(FILES.projects)}1048578:/pods/c\n`);
  assert.equal(textOf(names), `${textOf(FILES.names)}volume1048578:1048578\n`);
});

void test("[21.9] removed directories leave both files, with names that a crash left without a directory", () => {
  const left = withoutDirectories(
    { ...FILES, names: [...FILES.names, "volume1048590:1048590"] },
    new Set(["/pods/a", "/pods/none"]),
  );
  assert.equal(textOf(left.projects), "# of the administrator\n42:/srv/data\n1048579:/pods/b:with:colons\n");
  assert.equal(textOf(left.names), "# names\ndata:42\nvolume1048579:1048579\nreserved:1048580\n");
});
