/**
 * The files /etc/projects (`ID:DIRECTORY`) and /etc/projid (`NAME:ID`), which the administrator and the Go kubelet use
 * too. Lines that mean nothing to us remain as they are.
 */

export interface ProjectFiles {
  /** Lines of /etc/projects. */
  readonly projects: readonly string[];
  /** Lines of /etc/projid. */
  readonly names: readonly string[];
}

export interface ProjectDirectory {
  readonly project: number;
  readonly path: string;
}

/** Where the Go kubelet begins, too. */
const FIRST_PROJECT = 1_048_577;
const NAME = "volume";

export const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");
export const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

export function directoryOf(line: string): ProjectDirectory | undefined {
  const [, project, path] = /^(\d+):(.*)$/.exec(line) ?? [];
  return project === undefined || path === undefined ? undefined : { project: Number(project), path };
}

const projectOfName = (line: string): number | undefined => {
  const [, project] = /^[^#][^:]*:(\d+)$/.exec(line) ?? [];
  return project === undefined ? undefined : Number(project);
};

export const projectOf = ({ projects }: ProjectFiles, path: string): number | undefined =>
  projects.map(directoryOf).find((each) => each?.path === path)?.project;

/** The first projects that neither file names. */
export function unnamedProjects({ projects, names }: ProjectFiles, count: number): readonly number[] {
  const named = new Set([...projects.map((line) => directoryOf(line)?.project), ...names.map(projectOfName)]);
  const found: number[] = [];
  for (let project = FIRST_PROJECT; found.length < count; project += 1) if (!named.has(project)) found.push(project);
  return found;
}

export const withProject = (files: ProjectFiles, { project, path }: ProjectDirectory): ProjectFiles => ({
  projects: [...files.projects, `${project}:${path}`],
  names: [...files.names, `${NAME}${project}:${project}`],
});

/**
 * Without the projects of these directories. Our names of projects without a directory go as well: they are what a
 * crash between the two files leaves.
 */
export function withoutDirectories(files: ProjectFiles, paths: ReadonlySet<string>): ProjectFiles {
  const isKept = (line: string) => !paths.has(directoryOf(line)?.path ?? "");
  const projects = files.projects.filter(isKept);
  const used = new Set(projects.map((line) => directoryOf(line)?.project));
  const isUsed = (line: string) => {
    const project = projectOfName(line);
    return project === undefined || line !== `${NAME}${project}:${project}` || used.has(project);
  };
  return { projects, names: files.names.filter(isUsed) };
}
