/** Finds where cgroups are mounted, from the kernel's list of mounts. */

/**
 * One mounted v1 hierarchy and its controllers ("cpu", "name=systemd"). The v2 hierarchy of a hybrid setup has none
 * here.
 */
export interface V1Hierarchy {
  readonly path: string;
  readonly controllers: readonly string[];
}

export type Hierarchies =
  | { readonly version: 1; readonly mounts: readonly V1Hierarchy[] }
  | { readonly version: 2; readonly path: string };

const DEFAULT_ROOT = "/sys/fs/cgroup";

/**
 * Parses `/proc/self/mounts`. If a controller is mounted twice, the shorter path wins. Throws if no cgroup is mounted.
 */
export function parseHierarchies(mounts: string, root = DEFAULT_ROOT): Hierarchies {
  const lines = mounts.split("\n").map((line) => line.split(" "));
  const ofType = (type: string) =>
    lines
      .filter((fields) => fields[2] === type)
      .map(([, path = "", , options = ""]) => ({ path: unescaped(path), options: options.split(",") }))
      .filter(({ path }) => path === root || path.startsWith(`${root}/`));
  const unified = ofType("cgroup2");
  if (unified.some(({ path }) => path === root)) return { version: 2, path: root };
  const shortestFirst = ofType("cgroup").toSorted((a, b) => a.path.length - b.path.length);
  const taken = new Set<string>();
  const v1: V1Hierarchy[] = [];
  for (const { path, options } of shortestFirst) {
    const controllers = options.filter((option) => isController(option) && !taken.has(option));
    for (const controller of controllers) taken.add(controller);
    if (controllers.length > 0) v1.push({ path, controllers });
  }
  if (v1.length === 0) throw new Error(`no control groups are mounted below ${root}`);
  // On a hybrid machine the runtime also creates its cgroups in the v2 hierarchy, so create and remove them there too.
  const beside = unified
    .filter(({ path }) => path === `${root}/unified`)
    .map(({ path }) => ({ path, controllers: [] }));
  return { version: 1, mounts: [...v1, ...beside] };
}

/** Controllers that runtimes know; the other options of a mount name no controller. */
const CONTROLLERS =
  /^(?:cpu|cpuacct|cpuset|memory|devices|freezer|blkio|pids|hugetlb|net_cls|net_prio|perf_event|rdma|misc|name=systemd)$/;

const isController = (option: string) => CONTROLLERS.test(option);

/** The list of mounts escapes blanks in paths as octal numbers. */
const unescaped = (path: string) =>
  path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
