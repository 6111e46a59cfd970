/** Kubelets with one rule of the container lifecycle left out, built like those of `mutants.ts`. */
import type { Container, Pod } from "../src/api/gen/core-v1.ts";
import type { KubeletPorts } from "../src/app/wiring.ts";
import { sleep } from "../src/concurrency/sleep.ts";
import type { ApiServer, WatchEvent } from "../src/ports/api-server.ts";
import { HostFileError } from "../src/ports/host-files.ts";
import { ProbeError } from "../src/ports/prober.ts";
import type { ExecResult } from "../src/ports/runtime.ts";
import { changed, instead, type Mutant, without } from "./mutants.ts";
import type { SimNode } from "./sim-node.ts";

const DONE: ExecResult = { stdout: new Uint8Array(), stderr: new Uint8Array(), exitCode: 0 };
const NEVER = new AbortController().signal;
const HOUR_MS = 3_600_000;
/** The hooks of the scenario are distinguished by their duration. */
const POST_START = '"afterMs":1200';
const PRE_STOP = '"afterMs":1500';
const isHook = (command: readonly string[], hook: string) => command.join(" ").includes(hook);

/** An init container counts as completed as soon as it runs. */
const hurriesSetUp = changed(({ runtime }) => {
  const isInit = (name: string) => name === "one" || name === "two";
  return {
    runtime: instead(runtime, {
      containerStatus: async (...args) => {
        const found = await runtime.containerStatus(...args);
        const isRunning = isInit(found.status.metadata.name) && found.status.state === "running";
        return isRunning ? { ...found, status: { ...found.status, state: "exited", exitCode: 0 } } : found;
      },
      listContainers: async (...args) => {
        const found = await runtime.listContainers(...args);
        return found.map((each) =>
          isInit(each.metadata.name) && each.state === "running" ? { ...each, state: "exited" } : each,
        );
      },
    }),
  };
});

/** Waits briefly after a stop request, then treats the container as stopped. */
const stopsAllAtOnce = changed(({ runtime, clock }) => ({
  runtime: instead(runtime, {
    stopContainer: async (id, graceSeconds, signal) => {
      void runtime.stopContainer(id, graceSeconds, NEVER).catch(() => undefined);
      await sleep(clock, 100, signal);
    },
  }),
}));

const withHook = (
  hook: string,
  run: (ports: KubeletPorts, id: string, command: readonly string[]) => Promise<unknown>,
) =>
  changed((ports) => ({
    runtime: instead(ports.runtime, {
      execSync: async (id, command, timeoutSeconds, signal) => {
        if (!isHook(command, hook)) return ports.runtime.execSync(id, command, timeoutSeconds, signal);
        await run(ports, id, command);
        return DONE;
      },
    }),
  }));

const once = ({ runtime }: KubeletPorts, id: string, command: readonly string[]) =>
  runtime.execSync(id, command, 0, NEVER);
const unwaited = async (ports: KubeletPorts, id: string, command: readonly string[]) =>
  void once(ports, id, command).catch(() => undefined);
const twice = async (ports: KubeletPorts, id: string, command: readonly string[]) => {
  await once(ports, id, command);
  await once(ports, id, command);
};

/** Changes the containers of pods as this agent reads them. */
export const readingContainers = (
  ports: KubeletPorts,
  change: (container: Container) => Container,
): Partial<KubeletPorts> =>
  reading(ports, (pod) => ({
    ...pod,
    spec: { ...pod.spec, containers: (pod.spec?.containers ?? []).map(change) },
  }));

/** Changes pods as this agent reads them. */
export function reading({ api }: KubeletPorts, change: (pod: Pod) => Pod): Partial<KubeletPorts> {
  if (api === undefined) return {};
  async function* changedOnes<T>(events: AsyncIterable<WatchEvent<T>>): AsyncIterable<WatchEvent<T>> {
    for await (const event of events) {
      const isPod = event.kind !== "bookmark" && "containers" in Object((event.object as Partial<Pod>).spec);
      yield isPod ? { ...event, object: change(event.object as Pod) as T } : event;
    }
  }
  const watch: ApiServer["watch"] = (resource, selection, start, signal) =>
    changedOnes(api.main.watch(resource, selection, start, signal));
  return { api: { ...api, main: instead(api.main, { watch }) } };
}

const restartsTheUnready = changed((ports) =>
  reading(ports, (pod) => ({
    ...pod,
    spec: {
      ...pod.spec,
      containers: (pod.spec?.containers ?? []).map((container) =>
        container.readinessProbe === undefined ? container : { ...container, livenessProbe: container.readinessProbe },
      ),
    },
  })),
);

/** From 15 s on, the agent has no free port and blames the application. */
const blamesTheApplication = changed(({ prober, clock }) => ({
  prober: instead(prober, {
    http: (...args) =>
      clock.monotonicMs() > 15_000
        ? Promise.reject(new ProbeError("connect", "theirs", "no free port"))
        : prober.http(...args),
  }),
}));

/**
 * For the first 3 s of its second life the agent reads an empty journal and lists no containers. It lists no sandboxes
 * either unless `seesSandboxes` is set.
 */
function blind({ files, runtime, clock }: KubeletPorts, node: SimNode, seesSandboxes: boolean): Partial<KubeletPorts> {
  const beginMs = clock.monotonicMs();
  const isBlind = () => node.lives > 1 && clock.monotonicMs() < beginMs + 3_000;
  return {
    files: instead(files, {
      read: async (path, ...rest) => {
        const content = await files.read(path, ...rest);
        return isBlind() && path.includes("/journal/") ? content.subarray(0, 0) : content;
      },
    }),
    runtime: instead(runtime, {
      listSandboxes: (...args) => (isBlind() && !seesSandboxes ? Promise.resolve([]) : runtime.listSandboxes(...args)),
      listContainers: (...args) => (isBlind() ? Promise.resolve([]) : runtime.listContainers(...args)),
    }),
  };
}

const judgesAgain = changed((ports, node) => ({
  ...reading(ports, (pod) => (node.lives > 1 ? { ...pod, status: { phase: "Pending" } } : pod)),
  ...blind(ports, node, false),
}));

const setsUpAgain = changed((ports, node) => blind(ports, node, true));

/** Probe results are not journaled, and the published ones are not read back. */
const forgetsAnswers = changed((ports, node) => ({
  ...reading(ports, (pod) => (node.lives > 1 ? { ...pod, status: { phase: "Pending" } } : pod)),
  files: instead(ports.files, {
    appendAt: (path, offsetBytes, content) =>
      ports.files.appendAt(path, offsetBytes, without(content, '"kind":"probed"')),
  }),
}));

const givesMoreTime = changed(({ runtime }, node) => ({
  runtime: instead(runtime, {
    stopContainer: (id, graceSeconds, signal) =>
      runtime.stopContainer(id, node.lives > 1 ? graceSeconds + 20 : graceSeconds, signal),
  }),
}));

const killsAtOnce = changed(({ runtime }) => ({
  runtime: instead(runtime, { stopContainer: (id, _graceSeconds, signal) => runtime.stopContainer(id, 0, signal) }),
}));

const forgetsToWait = changed(({ clock }, node) => ({
  clock: instead(clock, { wallMs: () => clock.wallMs() + (node.lives > 1 ? HOUR_MS : 0) }),
}));

const grantsTooMuch = changed(({ machine }) => ({
  machine: instead(machine, { facts: async () => ({ ...(await machine.facts()), cpus: 16 }) }),
}));

/**
 * In its second life the agent finds no allocations: neither in its journal nor where the Go kubelet would look for
 * them.
 */
const forgetsAllocations = changed(({ files }, node) => ({
  files: instead(files, {
    read: async (path, ...rest) => {
      const content = await files.read(path, ...rest);
      if (node.lives === 1) return content;
      if (path.endsWith("_pods_state")) throw new HostFileError("read", path, "notFound", "it is forgotten");
      return path.includes("/journal/") ? without(content, '"kind":"allocated"') : content;
    },
  }),
}));

/** Granted resizes take effect without being journaled. */
const grantsUnwritten = changed(({ files }) => ({
  files: instead(files, {
    appendAt: (path, offsetBytes, content, sync) =>
      files.appendAt(path, offsetBytes, without(content, '"generation":2'), sync),
  }),
}));

const restartsForResizes = changed((ports) =>
  readingContainers(ports, (container) => ({
    ...container,
    resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }],
  })),
);

const squeezes = changed(({ runtime }) => ({
  runtime: instead(runtime, {
    containerStats: async (...args) => {
      const { memory, ...found } = await runtime.containerStats(...args);
      return memory === undefined ? found : { ...found, memory: { ...memory, usageBytes: 0n } };
    },
  }),
}));

const resizesInWords = changed(({ runtime }) => ({
  runtime: instead(runtime, { updateContainerResources: async () => undefined }),
}));

export const lifeMutants: readonly Mutant[] = [
  {
    name: "grants more than there is",
    breaks: "[8.2]",
    agent: grantsTooMuch,
    scenario: "resize that waits",
  },
  {
    name: "forgets what pods were allocated",
    breaks: "[8.2]",
    agent: forgetsAllocations,
    scenario: "resize that waits over a restart",
  },
  {
    name: "grants what is not written down",
    breaks: "which no journal record contains",
    agent: grantsUnwritten,
    scenario: "resize in place",
  },
  {
    name: "restarts a container that takes other resources while it runs",
    breaks: "[12]",
    agent: restartsForResizes,
    scenario: "resize in place",
  },
  {
    name: "holds a container to less memory than it uses",
    breaks: "[8.4]",
    agent: squeezes,
    scenario: "resize below usage",
  },
  {
    name: "says that a resize is done and does not do it",
    breaks: "is said to be resized",
    agent: resizesInWords,
    scenario: "resize in place",
  },
  {
    name: "sets up a pod beside its main containers",
    breaks: "whose main containers had begun",
    agent: setsUpAgain,
    scenario: "init containers that were removed do not run again",
  },
  {
    name: "forgets what containers have said",
    breaks: "[8]",
    agent: forgetsAnswers,
    scenario: "ready pods stay ready through restarts of the agent",
  },
  { name: "takes what sets up a pod for done", breaks: "[3]", agent: hurriesSetUp, scenario: "init containers" },
  {
    name: "stops sidecars beside those they serve",
    breaks: "[3]",
    agent: stopsAllAtOnce,
    scenario: "end with sidecars",
  },
  {
    name: "goes on while a hook upon a start is run",
    breaks: "[3]",
    agent: withHook(POST_START, unwaited),
    scenario: "hooks",
  },
  { name: "runs a hook before an end twice", breaks: "[4]", agent: withHook(PRE_STOP, twice), scenario: "hooks" },
  {
    name: "asks to end while a hook before that is run",
    breaks: "[4]",
    agent: withHook(PRE_STOP, unwaited),
    scenario: "hooks",
  },
  {
    name: "leaves out a hook before an end",
    breaks: "[4]",
    agent: withHook(PRE_STOP, async () => undefined),
    scenario: "hooks",
  },
  { name: "restarts what is not ready", breaks: "[12]", agent: restartsTheUnready, scenario: "probes" },
  { name: "counts a question that was not put", breaks: "[12]", agent: blamesTheApplication, scenario: "probes" },
  {
    name: "judges again what runs",
    breaks: "[5.13]",
    agent: judgesAgain,
    scenario: "the node has become smaller",
  },
  { name: "gives more time after a restart", breaks: "[4]", agent: givesMoreTime, scenario: "grace over a restart" },
  { name: "gives no time to end", breaks: "[4]", agent: killsAtOnce, scenario: "grace over a restart" },
  { name: "forgets how long to wait", breaks: "[2]", agent: forgetsToWait, scenario: "back-off over a restart" },
];
