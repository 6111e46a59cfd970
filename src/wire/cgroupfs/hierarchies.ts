/** Where control groups are mounted, read from the kernel's own list of mounts. */

/** One mounted v1 hierarchy with its controllers ("cpu", "name=systemd"); none for the v2 one beside them in a hybrid set-up. */
export interface V1Hierarchy {
  readonly path: string;
  readonly controllers: readonly string[];
}

export type Hierarchies =
  | { readonly version: 1; readonly mounts: readonly V1Hierarchy[] }
  | { readonly version: 2; readonly path: string };

const DEFAULT_ROOT = "/sys/fs/cgroup";

/** From the text of `/proc/self/mounts`. Of two mounts of one controller the shorter path counts. Throws where there is none. */
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
  // A runtime makes its groups in the v2 hierarchy of a hybrid machine too, so they are made and removed there.
  const beside = unified
    .filter(({ path }) => path === `${root}/unified`)
    .map(({ path }) => ({ path, controllers: [] }));
  return { version: 1, mounts: [...v1, ...beside] };
}

/** Those that runtimes know of; the other options of a mount name none. */
const CONTROLLERS =
  /^(?:cpu|cpuacct|cpuset|memory|devices|freezer|blkio|pids|hugetlb|net_cls|net_prio|perf_event|rdma|misc|name=systemd)$/;

const isController = (option: string) => CONTROLLERS.test(option);

/** Blanks in paths are written as octal numbers there. */
const unescaped = (path: string) =>
  path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
