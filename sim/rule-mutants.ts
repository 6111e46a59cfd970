/**
 * Kubelets with one rule left out about what may start, how often and how long a container is stopped, or whose
 * resources are touched.
 */
import { pods } from "../src/api/resources.ts";
import { sleep } from "../src/concurrency/sleep.ts";
import type { RuntimeStatus } from "../src/domain/runtime/runtime-info.ts";
import type { SandboxConfig } from "../src/domain/runtime/sandbox.ts";
import type { ApiServer } from "../src/ports/api-server.ts";
import { kubeletWith, MANIFESTS } from "./kubelet.ts";
import { reading, readingContainers } from "./life-mutants.ts";
import { changed, instead, type Mutant, without } from "./mutants.ts";
import { MANIFEST_FLAGS } from "./scenarios/with-rules.ts";
import type { AgentFactory } from "./sim-node.ts";

const NEVER = new AbortController().signal;

/** Admissions are not journaled. */
const admitsUnwritten = changed(({ files }) => ({
  files: instead(files, {
    appendAt: (path, offsetBytes, content, sync) =>
      files.appendAt(path, offsetBytes, without(content, '"kind":"admitted"'), sync),
    writeAtomically: (path, content, mode) =>
      files.writeAtomically(path, path.includes("/journal/") ? without(content, '"kind":"admitted"') : content, mode),
  }),
}));

const forgetsExits = changed(({ files }) => ({
  files: instead(files, {
    appendAt: (path, offsetBytes, content, sync) =>
      files.appendAt(path, offsetBytes, without(content, '"kind":"exited"'), sync),
  }),
}));

/** Deletions reported by the API server are ignored. */
const ignoresDeletion = changed((ports) =>
  reading(ports, (pod) => {
    const { deletionTimestamp: _, ...metadata } = pod.metadata ?? {};
    return { ...pod, metadata };
  }),
);

/** Longer than a call that was sent before the journal said that the pod terminates may take. */
const LATE_MS = 100;

/** Creates one more container before a sandbox is stopped, and one more sandbox before a sandbox is removed. */
const startsAtTheEnd = changed(({ runtime, clock }) => {
  const sandboxes = new Map<string, { readonly config: SandboxConfig; readonly handler: string }>();
  const containers = new Map<string, Parameters<typeof runtime.createContainer>>();
  return {
    runtime: instead(runtime, {
      runSandbox: async (config, handler, signal) => {
        const id = await runtime.runSandbox(config, handler, signal);
        sandboxes.set(id, { config, handler });
        return id;
      },
      createContainer: (...args) => {
        containers.set(args[0], args);
        return runtime.createContainer(...args);
      },
      stopSandbox: async (id, signal) => {
        const [, config, sandboxConfig] = containers.get(id) ?? [];
        containers.delete(id);
        if (config !== undefined && sandboxConfig !== undefined) {
          await sleep(clock, LATE_MS, signal);
          const again = { ...config, metadata: { ...config.metadata, attempt: config.metadata.attempt + 1 } };
          await runtime.createContainer(id, again, sandboxConfig, signal);
        }
        await runtime.stopSandbox(id, signal);
      },
      removeSandbox: async (id, signal) => {
        const { config, handler } = sandboxes.get(id) ?? {};
        sandboxes.delete(id);
        if (config !== undefined && handler !== undefined) {
          const metadata = { ...config.metadata, attempt: config.metadata.attempt + 1 };
          await runtime.runSandbox({ ...config, metadata }, handler, signal);
        }
        await runtime.removeSandbox(id, signal);
      },
    }),
  };
});

const asksLate = changed(({ runtime, clock }) => ({
  runtime: instead(runtime, {
    stopContainer: async (id, graceSeconds, signal) => {
      await sleep(clock, graceSeconds * 1_000 + 10_000, signal);
      await runtime.stopContainer(id, graceSeconds, signal);
    },
  }),
}));

const asksTwice = changed(({ runtime }) => ({
  runtime: instead(runtime, {
    stopContainer: async (id, graceSeconds, signal) => {
      await Promise.all([0, 1].map(() => runtime.stopContainer(id, graceSeconds, signal)));
    },
  }),
}));

/** In its second life the agent does not read which hooks ran. */
const forgetsHooks = changed(({ files }, node) => ({
  files: instead(files, {
    read: async (path, ...rest) => {
      const content = await files.read(path, ...rest);
      return node.lives > 1 && path.includes("/journal/") ? without(content, '"kind":"hook"') : content;
    },
  }),
}));

/** A container that restarts to resize one resource also restarts to resize the other. */
const restartsForEveryResize = changed((ports) =>
  readingContainers(ports, (container) => ({
    ...container,
    ...(container.resizePolicy && {
      resizePolicy: ["cpu", "memory"].map((resourceName) => ({ resourceName, restartPolicy: "RestartContainer" })),
    }),
  })),
);

const removesForeignFiles = changed(({ files }) => ({
  files: instead(files, {
    removeTree: async (path) => {
      await files.removeTree("/var/lib/kubelet/vendor");
      await files.removeTree(path);
    },
  }),
}));

const removesForeignCgroups = changed(({ cgroups }) => ({
  cgroups: (driver) => {
    const { pods, machine } = cgroups(driver);
    const destroy: typeof pods.destroy = async (name, signal) => {
      await pods.destroy(["kubepods", "vendor"], signal);
      await pods.destroy(name, signal);
    };
    return { pods: instead(pods, { destroy }), machine };
  },
}));

const unmountsForeignMounts = changed(({ mounts }) => ({
  mounts: instead(mounts, {
    unmount: async (path, how, signal) => {
      await mounts.unmount("/var/lib/kubelet/plugins/vendor.example/mount", how, signal);
      await mounts.unmount(path, how, signal);
    },
  }),
}));

const GOOD: RuntimeStatus = {
  conditions: ["RuntimeReady", "NetworkReady"].map((type) => ({ type, status: true, reason: "", message: "" })),
  handlers: [],
  supplementalGroupsPolicy: true,
  userNamespacesHostNetwork: false,
  info: {},
};

const praisesADeadRuntime = changed(({ runtime }) => ({
  runtime: instead(runtime, {
    version: async () => ({ name: "simulated", version: "v2.0.0", apiVersion: "v1" }),
    status: async () => GOOD,
  }),
}));

const blamesTheRuntime = changed(({ runtime, clock }) => ({
  runtime: instead(runtime, {
    status: async (...args) => {
      const status = await runtime.status(...args);
      if (clock.monotonicMs() < 10_000) return status;
      return { ...status, conditions: status.conditions.map((each) => ({ ...each, status: false })) };
    },
  }),
}));

/** The main loop waits forever for the second pod's admission to be journaled. */
const comesToRest = changed(({ files, clock }) => ({
  files: instead(files, {
    appendAt: (path, offsetBytes, content, sync) => {
      const isStuck = clock.monotonicMs() > 15_000 && Buffer.from(content).includes('"kind":"admitted"');
      return isStuck ? new Promise(() => {}) : files.appendAt(path, offsetBytes, content, sync);
    },
  }),
}));

type Body = Readonly<Record<string, unknown>>;

/** Changes pod statuses as each life of this agent writes them. */
const writing = (begin: () => (body: Body, name: string) => Body) =>
  changed(({ api }) => {
    if (api === undefined) return {};
    const change = begin();
    const patch: ApiServer["patch"] = (resource, name, given, options, signal) => {
      const isStatus = resource.plural === "pods" && options.subresource === "status";
      const sent = isStatus ? { ...given, body: change(given.body as Body, name.name) } : given;
      return api.main.patch(resource, name, sent, options, signal);
    };
    return { api: { ...api, main: instead(api.main, { patch }) } };
  });

/** Publishes the status of the first pod for the second. */
const writesForeignStatus = writing(() => {
  let first: unknown;
  return (body, name) => {
    if (name === "a") first = body["status"];
    return name === "b" && first !== undefined ? { ...body, status: first } : body;
  };
});

/** Deletes the mirror pod as soon as the manifest is gone. */
const deletesMirrorEarly = changed(({ files, api, clock }) => ({
  files: instead(files, {
    list: async (path) => {
      const names = await files.list(path);
      if (path === MANIFESTS && names.length === 0 && clock.monotonicMs() > 5_000)
        await api?.main.delete(pods, { namespace: "default", name: "static-n1" }, { gracePeriodSeconds: 0 }, NEVER);
      return names;
    },
  }),
}));

const mirrorFailsForAMoment = writing(() => {
  let isDone = false;
  return (body) => {
    const { phase, ...status } = body["status"] as { readonly phase?: string };
    if (phase !== "Running" || isDone) return body;
    isDone = true;
    return { ...body, status: { ...status, phase: "Failed" } };
  };
});

/**
 * Before a static pod starts, starts the pod of its name whose manifest came last, or one whose manifest was replaced.
 */
const startsInOtherOrder =
  (whom: "newest" | "replaced"): AgentFactory =>
  (ports, node) => {
    const { runtime, files } = ports;
    const seen: string[] = [];
    const agent = kubeletWith(...(whom === "newest" ? MANIFEST_FLAGS : []));
    const note = (content: Uint8Array) => {
      const text = Buffer.from(content).toString("latin1");
      for (const [, uid = ""] of text.matchAll(/"kind":"staticPod","uid":"([^"]+)"/g))
        if (!seen.includes(uid)) seen.push(uid);
    };
    return agent(
      {
        ...ports,
        files: instead(files, {
          appendAt: (path, offsetBytes, content, sync) => {
            note(content);
            return files.appendAt(path, offsetBytes, content, sync);
          },
        }),
        runtime: instead(runtime, {
          runSandbox: async (config, handler, signal) => {
            const other = seen[whom === "newest" ? seen.length - 1 : 1];
            if (seen.length === 3 && other !== undefined && other !== config.metadata.uid) {
              const metadata = { ...config.metadata, uid: other };
              await runtime.runSandbox({ ...config, metadata }, handler, NEVER);
            }
            return runtime.runSandbox(config, handler, signal);
          },
        }),
      },
      node,
    );
  };

export const ruleMutants: readonly Mutant[] = [
  {
    name: "starts a pod that was not admitted in writing",
    breaks: "which was never admitted",
    agent: admitsUnwritten,
    scenario: "crashing pod is deleted",
  },
  {
    name: "restarts a container of a pod whose deletion it had received",
    breaks: "though the agent had received its deletion",
    agent: ignoresDeletion,
    scenario: "crashing pod is deleted",
  },
  {
    name: "creates a container after the terminating mark",
    breaks: "CreateContainer for a after the journal said that it terminates",
    agent: startsAtTheEnd,
    scenario: "crashing pod is deleted",
  },
  {
    name: "creates a sandbox after the terminal phase",
    breaks: "RunPodSandbox for a after its terminal phase",
    agent: startsAtTheEnd,
    scenario: "crashing pod is deleted",
  },
  {
    name: "stops a container after its grace ended",
    breaks: "ms after its grace ended",
    agent: asksLate,
    scenario: "agent dies between a preStop hook and the end of its container",
  },
  {
    name: "stops a container twice with the same grace",
    breaks: "was stopped twice with the same grace",
    agent: asksTwice,
    scenario: "agent dies between a preStop hook and the end of its container",
  },
  {
    name: "runs a preStop hook again after a restart of the agent",
    breaks: "ran twice",
    agent: forgetsHooks,
    scenario: "agent dies between a preStop hook and the end of its container",
  },
  {
    name: "restarts a container for a resize in place that follows one by a restart",
    breaks: "[12] app of a",
    agent: restartsForEveryResize,
    scenario: "resize by a restart, then in place",
  },
  {
    name: "starts a static pod whose manifest was replaced",
    breaks: "though another manifest took its place",
    agent: startsInOtherOrder("replaced"),
    scenario: "a static pod that never started does not block the next of its name",
  },
  {
    name: "starts a static pod before one of its name that came first",
    breaks: "which came first",
    agent: startsInOtherOrder("newest"),
    scenario: "static pods of one name from two sources wait for a third",
  },
  {
    name: "removes the directory of another program",
    breaks: "[12] /var/lib/kubelet/vendor/notes",
    agent: removesForeignFiles,
    scenario: "pod is deleted beside things of others",
  },
  {
    name: "removes the cgroup of another program",
    breaks: "[12] cgroup kubepods/vendor",
    agent: removesForeignCgroups,
    scenario: "pod is deleted beside things of others",
  },
  {
    name: "unmounts what another program mounted",
    breaks: "[12] the mount at",
    agent: unmountsForeignMounts,
    scenario: "pod is deleted beside things of others",
  },
  {
    name: "writes the status of another pod",
    breaks: "[8] b/app: reported a container of pod",
    agent: writesForeignStatus,
    scenario: "two pods run",
  },
  {
    name: "takes back the phase of a mirror pod",
    breaks: "[8] static-n1: phase went from Failed to Running",
    agent: mirrorFailsForAMoment,
    scenario: "a static pod that never started does not block the next of its name",
  },
  {
    name: "deletes the mirror pod of a removed static pod that still runs",
    breaks: "[4.8] static-n1: its mirror pod was removed while app ran",
    agent: deletesMirrorEarly,
    scenario: "mirror",
  },
  {
    name: "says that the node is Ready while the runtime is dead",
    breaks: "[10] the node is Ready though",
    agent: praisesADeadRuntime,
    scenario: "runtime is dead for two minutes",
  },
  {
    name: "takes Ready away though the runtime answers",
    breaks: "[10] Ready became False",
    agent: blamesTheRuntime,
    scenario: "pod comes to a node that runs another",
  },
  {
    name: "does not say that the node is Ready though the runtime answers",
    breaks: "[10] the node is not Ready",
    agent: blamesTheRuntime,
    scenario: "pod comes to a node that runs another",
  },
  {
    name: "renews the lease while its main loop is dead",
    breaks: "[10] the lease is renewed",
    agent: comesToRest,
    scenario: "pod comes to a node that runs another",
  },
  {
    name: "removes a container whose exit is not in the journal",
    breaks: "[8] app of a is removed, and its exit is not in the journal",
    agent: forgetsExits,
    scenario: "crashing pod is deleted",
  },
];
