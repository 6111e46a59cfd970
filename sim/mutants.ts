/**
 * Kubelets with one rule about volumes or images left out. Each is the real kubelet with changed ports: a port that
 * returns before its work is done, or does too much. If the simulator does not detect one of them, it would not detect
 * the same mistake in the kubelet either.
 */
import type { KubeletPorts } from "../src/app/wiring.ts";
import { kubelet } from "./kubelet.ts";
import type { PortCall } from "./port-calls.ts";
import type { AgentFactory, SimNode } from "./sim-node.ts";
import { directoryAt } from "./workload/disk-view.ts";

export interface Mutant {
  readonly name: string;
  /** Text that the finding must contain: the rule as the oracle names it, or the wrong final state. */
  readonly breaks: string;
  readonly agent: AgentFactory;
  /** Name of the scenario that must detect the mutant. */
  readonly scenario: string;
  /** The call at which the agent must die for the mutant to show. */
  readonly diesAt?: (call: PortCall) => boolean;
}

const NEVER = new AbortController().signal;
const LATER_MS = 20_000;
/** A file of a set while the set is written: captures the volume and the file's name. */
const OF_SET = /^(?<volume>.+)\/\.\.\d{4}_[^/]+\/(?<name>[^/]+)$/;
/** The directories that hold a pod's volumes, and all paths below them. */
const IN_VOLUMES = /\/pods\/[^/]+\/(volumes|volume-subpaths|plugins)(\/|$)/;

/** The port with some of its calls replaced. */
export function instead<T extends object>(port: T, calls: Partial<T>): T {
  const replaced = new Map<string | symbol, unknown>(Object.entries(calls));
  return new Proxy(port, {
    get: (target, key) => (replaced.has(key) ? replaced.get(key) : Reflect.get(target, key, target)),
  });
}

export const changed =
  (change: (ports: KubeletPorts, node: SimNode) => Partial<KubeletPorts>): AgentFactory =>
  (ports, node) =>
    kubelet({ ...ports, ...change(ports, node) }, node);

/** Returns at once and acts later. */
function later<Args extends readonly unknown[]>({ clock }: KubeletPorts, act: (...args: Args) => Promise<unknown>) {
  return async (...args: Args): Promise<void> => {
    const withoutSignal = args.map((each) => (each instanceof AbortSignal ? NEVER : each)) as unknown as Args;
    clock.after(LATER_MS, () => void act(...withoutSignal).catch(() => undefined));
  };
}

/** Empties a directory and everything visible below it, across mounts. */
function wipe(node: SimNode, path: string): void {
  const directory = directoryAt(node.files.disk, path);
  for (const name of directory?.entries.keys() ?? []) wipe(node, `${path}/${name}`);
  directory?.entries.clear();
}

/** Overwrites every line that contains `what` with "x". */
export function without(content: Uint8Array, what: string): Uint8Array {
  const lines = Buffer.from(content).toString("latin1").split("\n");
  const kept = lines.map((line) => (line.includes(what) ? "x".repeat(line.length) : line));
  return Buffer.from(kept.join("\n"), "latin1");
}

const unmountsEarly = changed(({ runtime, mounts }) => ({
  runtime: instead(runtime, {
    stopContainer: async (id, graceSeconds, signal) => {
      for (const { path } of await mounts.table())
        if (IN_VOLUMES.test(path)) await mounts.unmount(path, { lazy: true }, signal);
      await runtime.stopContainer(id, graceSeconds, signal);
    },
  }),
}));

const removesAcrossMounts = changed(({ mounts }, node) => ({
  mounts: instead(mounts, { removeTree: async (path) => wipe(node, path) }),
}));

const mountsUnrecorded = changed(({ files }) => ({
  files: instead(files, {
    appendAt: (path, offsetBytes, content, sync) =>
      files.appendAt(path, offsetBytes, without(content, '"kind":"mounting"'), sync),
  }),
}));

const writesInPlace = changed(({ files }) => ({
  files: instead(files, {
    writeNew: async (path, content, facts) => {
      const { volume, name } = OF_SET.exec(path)?.groups ?? {};
      const seen = `${volume}/..data/${name}`;
      if (volume !== undefined && (await files.facts(seen)) !== undefined)
        await files.overwrite(seen, content, facts.mode);
      await files.writeNew(path, content, facts);
    },
  }),
}));

const dropsOnFailure = changed(({ files }) => ({
  files: instead(files, {
    writeNew: async (path, content, facts) => {
      const { volume } = OF_SET.exec(path)?.groups ?? {};
      try {
        await files.writeNew(path, content, facts);
      } catch (error) {
        if (volume !== undefined) await files.removeFile(`${volume}/..data`);
        throw error;
      }
    },
  }),
}));

const finishesEarly = changed((ports) => {
  const { mounts, files } = ports;
  const removeDirectory = later(ports, (path: string) => files.removeDirectory(path));
  return {
    mounts: instead(mounts, {
      unmount: later(ports, (path: string, how: { readonly lazy: boolean }) => mounts.unmount(path, how, NEVER)),
      removeTree: later(ports, (path: string) => mounts.removeTree(path, NEVER)),
    }),
    files: instead(files, {
      removeDirectory: (path) => (IN_VOLUMES.test(path) ? removeDirectory(path) : files.removeDirectory(path)),
    }),
  };
});

const startsEarly = changed((ports) => ({
  mounts: instead(ports.mounts, {
    mountMemory: later(
      ports,
      (path: string, mount: { readonly sizeBytes: bigint | undefined; readonly noSwap: boolean }) =>
        ports.mounts.mountMemory(path, mount, NEVER),
    ),
  }),
}));

const bindsPartsLate = changed((ports) => ({
  mounts: instead(ports.mounts, {
    bindSubPath: later(ports, (bind: Parameters<KubeletPorts["mounts"]["bindSubPath"]>[0]) =>
      ports.mounts.bindSubPath(bind, NEVER),
    ),
  }),
}));

/** Does not list the pod directories on the node after a restart. */
const forgetsTheNode = changed(({ files }, node) => ({
  files: instead(files, {
    list: (path) => (node.lives > 1 && path.endsWith("/kubelet/pods") ? Promise.resolve([]) : files.list(path)),
  }),
}));

/**
 * After a restart, assumes that the links of a volume's names exist, even if the previous writer died before creating
 * them.
 */
const leavesNamesOut = changed(({ files }, node) => ({
  files: instead(files, {
    list: async (path) => {
      const names = await files.list(path);
      const isVolume = node.lives > 1 && IN_VOLUMES.test(path) && names.includes("..data");
      return isVolume ? [...new Set([...names, "one", "two", "three", "four"])] : names;
    },
  }),
}));

const pullsTwice = changed(({ images }) => ({
  images: instead(images, {
    pullImage: async (spec, options, signal) => {
      const [id] = await Promise.all([
        images.pullImage(spec, options, signal),
        images.pullImage(spec, options, signal),
      ]);
      return id;
    },
  }),
}));

export const mutants: readonly Mutant[] = [
  { name: "unmounts before containers are dead", breaks: "[6]", agent: unmountsEarly, scenario: "ordinary pod goes" },
  { name: "removes across a mount", breaks: "[6]", agent: removesAcrossMounts, scenario: "33 orphan with data" },
  { name: "mounts before the journal says so", breaks: "[6]", agent: mountsUnrecorded, scenario: "ordinary pod" },
  { name: "writes files in place", breaks: "[37]", agent: writesInPlace, scenario: "37 files change again and again" },
  { name: "drops files when a refresh fails", breaks: "[37]", agent: dropsOnFailure, scenario: "36 refreshes fail" },
  {
    name: "finishes a pod before its volumes are gone",
    breaks: "[7]",
    agent: finishesEarly,
    scenario: "ordinary pod goes",
  },
  { name: "starts before volumes are ready", breaks: "[6]", agent: startsEarly, scenario: "ordinary pod" },
  { name: "starts before parts of volumes are bound", breaks: "[6]", agent: bindsPartsLate, scenario: "ordinary pod" },
  {
    name: "does not look what lies on the node",
    breaks: "[7]",
    agent: forgetsTheNode,
    scenario: "34 deleted around a restart",
  },
  {
    name: "does not link the names that a dead writer left out",
    breaks: "a/settings shows",
    agent: leavesNamesOut,
    scenario: "37 files change again and again",
    diesAt: ({ port, name, target }) => port === "files" && name === "link" && target.endsWith("/four"),
  },
  { name: "pulls an image twice at once", breaks: "[28]", agent: pullsTwice, scenario: "pull cut short" },
];
