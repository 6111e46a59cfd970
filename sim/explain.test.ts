/**
 * Runs `deckhand explain pod` for 34 failures, each injected into a world with the real kubelet. The first sentence
 * names the injected cause while the agent runs, while it is down and after it restarts.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { configMaps, nodes } from "../src/api/resources.ts";
import { readJournal } from "../src/controllers/journal/read-journal.ts";
import { MountError } from "../src/ports/mounts.ts";
import { RuntimeError } from "../src/ports/runtime-error.ts";
import { ask, HTTP, initContainer, makeStage, NAME, running, type Stage, server, sick } from "./explain-world.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { kubelet } from "./kubelet.ts";
import type { Fault, PortCall } from "./port-calls.ts";

const JOURNAL = "/var/lib/kubelet/deckhand/journal";
const exec = (behaviour: Behaviour) => ({ exec: { command: [...scripted(behaviour)] } });

interface Failure {
  readonly name: string;
  readonly fault?: (call: PortCall) => Fault | undefined;
  /** Creates the pod and the conditions that keep it from running. */
  readonly begin: (stage: Stage) => void | Promise<void>;
  readonly waitMs?: number;
  readonly says: RegExp;
  /** Expected after the agent has restarted, where that differs from `says`. */
  readonly saysLater?: RegExp;
}

const refuses = (operation: string, detail: string) => (call: PortCall) =>
  call.port === "runtime" && call.name === operation
    ? ({ kind: "fail", effect: "none", error: new RuntimeError(operation, "unknown", detail) } as const)
    : undefined;

const FAILURES: readonly Failure[] = [
  {
    name: "a tag that does not exist",
    begin: ({ create }) => create({ image: "docker.io/library/busybox:nope" }),
    says: /^The container "app" cannot start: its image docker.io\/library\/busybox:nope cannot be pulled: .*not found/,
  },
  {
    name: "a registry that is away",
    begin: ({ world, create }) => {
      world.registry.setAway("docker.io", true);
      create({ image: "other", imagePullPolicy: "Always" });
    },
    says: /^The container "app" cannot start: its image other cannot be pulled: .*connection refused/,
  },
  {
    name: "an image that is not there and is never to be pulled",
    begin: ({ create }) => create({ image: "absent", imagePullPolicy: "Never" }),
    says: /^The container "app" cannot start: Container image "absent" is not present with pull policy of Never/,
  },
  {
    name: "an image's name that is none",
    begin: ({ create }) => create({ image: "UPPER/case:" }),
    says: /^The container "app" cannot start: Failed to apply default image tag "UPPER\/case:"/,
  },
  {
    name: "a Secret in the environment that does not exist",
    begin: ({ create }) =>
      create({ ...running(), env: [{ name: "A", valueFrom: { secretKeyRef: { name: "gone", key: "k" } } }] }),
    says: /^The container "app" cannot start: secret "gone" not found/,
  },
  {
    name: "a Secret as a volume that does not exist",
    begin: ({ create }) =>
      create(
        { ...running(), volumeMounts: [{ name: "v", mountPath: "/v" }] },
        { volumes: [{ name: "v", secret: { secretName: "gone" } }] },
      ),
    says: /^The pod's volumes cannot be mounted: MountVolume.SetUp failed for volume "v" : secret "gone" not found/,
  },
  {
    name: "a key of a ConfigMap that does not exist",
    begin: ({ world, create }) => {
      const object = { metadata: { name: "settings", namespace: "default" }, data: { one: "1" } };
      world.api.writes.create(kindOf(configMaps), object, ADMIN);
      const configMapKeyRef = { name: "settings", key: "two" };
      create({ ...running(), env: [{ name: "A", valueFrom: { configMapKeyRef } }] });
    },
    says: /^The container "app" cannot start: couldn't find key two in ConfigMap default\/settings/,
  },
  {
    name: "a network that cannot be set up for its sandbox",
    begin: async ({ world, node, create }) => {
      await world.advance(5_000);
      node.runtime.knobs.network = { ready: true, addError: 'plugin type="bridge" failed (add): no addresses left' };
      create(running());
    },
    says: /^The pod's sandbox cannot be created: .*plugin type="bridge" failed \(add\): no addresses left/,
  },
  {
    name: "a network of pods that is not there",
    begin: async ({ world, node, create }) => {
      await world.advance(5_000);
      node.runtime.knobs.network = { ready: false, addError: "cni plugin not initialized" };
      await world.advance(10_000);
      create(running());
    },
    says: /^The pod waits for the network of this node's pods: network is not ready: .*cni plugin not initialized/,
  },
  {
    name: "a crash loop",
    begin: ({ create }) => create(running({ exit: { afterMs: 500, code: 3 } })),
    waitMs: 40_000,
    says: /^The container "app" keeps ending: it ended with exit code 3 \(Error\), \d times so far; it is started again at \d\d:\d\d:\d\d/,
    saysLater: /^The container "app" .*exit code 3 \(Error\)/,
  },
  {
    name: "a command that does not exist",
    begin: ({ create }) => create(running({ cannotStart: 'exec: "nope": executable file not found in $PATH' })),
    says: /^The container "app" cannot start: exec: "nope": executable file not found in \$PATH/,
  },
  {
    name: "too little memory",
    begin: ({ create }) =>
      create({ ...running({ ...server, memoryBytes: 64 << 20 }), resources: { limits: { memory: "16Mi" } } }),
    waitMs: 30_000,
    says: /^The container "app" .*was killed for lack of memory \(OOMKilled, exit code 137\)/,
  },
  {
    name: "a liveness probe that fails",
    begin: ({ create }) => create({ ...running(sick), livenessProbe: HTTP }),
    waitMs: 60_000,
    says: /^The container "app" .*liveness probe failed: HTTP probe failed with statuscode: 503/i,
  },
  {
    name: "a readiness probe that fails",
    begin: ({ create }) => create({ ...running(sick), readinessProbe: HTTP }),
    says: /^The container "app" runs since \S+ but is not ready: Readiness probe failed: HTTP probe failed with statuscode: 503/,
  },
  {
    name: "a startup probe that fails",
    begin: ({ create }) => create({ ...running(sick), startupProbe: { ...HTTP, failureThreshold: 60 } }),
    says: /^The container "app" runs since \S+ but has not started up: Startup probe failed: HTTP probe failed with statuscode: 503/,
  },
  {
    name: "a postStart hook that hangs",
    begin: ({ create }) => create({ ...running(), lifecycle: { postStart: exec({}) } }),
    says: /^The container "app" waits for its postStart hook, which runs since/,
  },
  {
    name: "a postStart hook that fails",
    begin: ({ create }) =>
      create({ ...running(), lifecycle: { postStart: exec({ exit: { afterMs: 100, code: 9 } }) } }),
    says: /^The container "app" was stopped because its postStart hook failed/,
  },
  {
    name: "a preStop hook that hangs",
    begin: async ({ world, create, remove }) => {
      create({ ...running(), lifecycle: { preStop: exec({}) } }, { terminationGracePeriodSeconds: 600 });
      await world.advance(10_000);
      remove(600);
    },
    says: /^The pod is terminating and the container "app" waits for its preStop hook, which runs since .*its deletion was requested/,
  },
  {
    name: "an init container that fails",
    begin: ({ create }) =>
      create(running(), {
        initContainers: [
          initContainer("first", running({ exit: { afterMs: 100, code: 0 } })),
          initContainer("second", running({ exit: { afterMs: 100, code: 7 } })),
        ],
      }),
    waitMs: 40_000,
    says: /^The init container "second" \(2 of 2\) keeps ending: it ended with exit code 7 \(Error\)/,
    saysLater: /^The init container "second" .*exit code 7 \(Error\)/,
  },
  {
    name: "an init container without its image",
    begin: ({ create }) => create(running(), { initContainers: [initContainer("setup", { image: "busybox:nope" })] }),
    says: /^The init container "setup" cannot start: its image busybox:nope cannot be pulled: .*not found/,
  },
  {
    name: "a sidecar that does not come up",
    begin: ({ create }) =>
      create(running(), {
        initContainers: [
          initContainer("proxy", {
            ...running(sick),
            restartPolicy: "Always",
            startupProbe: { ...HTTP, failureThreshold: 100 },
          }),
        ],
      }),
    says: /^The sidecar "proxy" runs since \S+ but has not started up: Startup probe failed: .*503/,
  },
  {
    name: "more CPU than the node has",
    begin: ({ create }) => create({ ...running(), resources: { requests: { cpu: "900" } } }),
    says: /^This node rejected the pod at \S+: OutOfcpu: Node didn't have enough resource: cpu, requested: 900000/,
  },
  {
    name: "a selector that the node does not match",
    begin: ({ create }) => create(running(), { nodeSelector: { disk: "ssd" } }),
    says: /^This node rejected the pod at \S+: NodeAffinity: /,
  },
  {
    name: "a taint that it does not tolerate",
    begin: async ({ world, create }) => {
      await world.advance(5_000);
      const spec = { taints: [{ key: "broken", effect: "NoExecute" }] };
      const patch = { kind: "merge", body: { spec } } as const;
      world.api.writes.patch(kindOf(nodes), { name: "n1" }, patch, undefined, ADMIN);
      await world.advance(5_000);
      create(running());
    },
    says: /^This node rejected the pod at \S+: TaintToleration: /,
  },
  {
    name: "a port of the node that is taken",
    begin: async ({ world, create }) => {
      const ports = [{ containerPort: 80, hostPort: 8080 }];
      create({ ...running(), ports }, {}, "before");
      await world.advance(5_000);
      create({ ...running(), ports });
    },
    says: /^This node rejected the pod at \S+: NodePorts: .*didn't have free ports/,
  },
  {
    name: "a sysctl that is not allowed",
    begin: ({ create }) =>
      create(running(), { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "65536" }] } }),
    says: /^This node rejected the pod at \S+: SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted/,
  },
  {
    name: "an image of root's in a pod that forbids root",
    begin: ({ create }) => create(running(), { securityContext: { runAsNonRoot: true } }),
    says: /^The container "app" cannot start: container has runAsNonRoot and image will run as root/,
  },
  {
    name: "a RuntimeClass that does not exist",
    begin: ({ create }) => create(running(), { runtimeClassName: "gvisor" }),
    says: /RuntimeClass.*"gvisor"/i,
  },
  {
    name: "a critical pod that needs its room",
    begin: async ({ world, create }) => {
      create({ ...running(), resources: { requests: { cpu: "3500m" } } });
      await world.advance(10_000);
      const critical = { priority: 2_000_000_000, priorityClassName: "system-node-critical" };
      create({ ...running(), resources: { requests: { cpu: "3" } } }, critical, "critical");
    },
    says: /^The pod was terminated at \S+: Preempting: Preempted in order to admit critical pod \(default\/critical is critical and finds too little cpu\)/,
  },
  {
    name: "a deadline that has passed",
    begin: ({ create }) => create(running(), { activeDeadlineSeconds: 10 }),
    says: /^The pod was terminated at \S+: DeadlineExceeded: Pod was active on the node longer than the specified deadline/,
  },
  {
    name: "a runtime that is down",
    begin: async ({ world, node, create }) => {
      await world.advance(5_000);
      node.runtime.kill();
      await world.advance(40_000);
      create(running());
    },
    says: /^The pod cannot be started: the container runtime of this node is not well: container runtime is down/,
    saysLater:
      /^The pod cannot be started: the container runtime of this node is not well: container runtime status check may not/,
  },
  {
    name: "a volume that cannot be unmounted",
    fault: ({ port, name }) =>
      port === "mounts" && name === "unmount"
        ? { kind: "fail", effect: "none", error: new MountError("unmount", "/v", "busy", "device or resource busy") }
        : undefined,
    begin: async ({ world, create, remove }) => {
      create(
        { ...running(), volumeMounts: [{ name: "scratch", mountPath: "/v" }] },
        { volumes: [{ name: "scratch", emptyDir: { medium: "Memory" } }] },
      );
      await world.advance(10_000);
      remove(5);
    },
    says: /^The pod was terminated at \S+: its deletion was requested, and cannot be cleaned up: step 4\/8 unmount: scratch: .*device or resource busy/,
  },
  {
    name: "a runtime that refuses to stop",
    fault: refuses("StopContainer", "the shim does not answer"),
    begin: async ({ world, create, remove }) => {
      create(running());
      await world.advance(10_000);
      remove(5);
    },
    says: /^The pod cannot be terminated: .*the shim does not answer.*its deletion was requested/,
  },
  {
    name: "a disk that is full",
    begin: async ({ world, node, create }) => {
      create(running({ exit: { afterMs: 20_000, code: 1 } }));
      await world.advance(10_000);
      node.files.disk.freeBytes = 0;
      const whole = await node.machine.filesystem("/");
      node.machine.filesystems.set("/", { ...whole, availableBytes: 0n });
    },
    says: /^The file system of \/var\/lib\/kubelet is full: it has no space for another byte\. The agent can start nothing/,
  },
];

async function sentence(stage: Stage): Promise<string> {
  const { stdout, stderr, code } = await ask(stage, "--output", "json");
  assert.equal(code, 0, stderr);
  const answer = JSON.parse(stdout) as { readonly sentence: string };
  return answer.sentence;
}

describe("explain names the cause of a failure", () => {
  for (const { name, fault, begin, waitMs = 20_000, says, saysLater = says } of FAILURES) {
    test(name, async () => {
      const stage = makeStage(fault);
      const { world, node } = stage;
      await begin(stage);
      await world.advance(waitMs);
      const said = await sentence(stage);
      assert.match(said, says);
      node.crash();
      await world.advance(1_000);
      assert.match(await sentence(stage), says, "while the agent is down");
      node.start(kubelet);
      await world.advance(20_000);
      const later = await sentence(stage);
      assert.match(later, saysLater, "after the agent came back");
      assert.doesNotMatch(said + later, /undefined|\[object/);
    });
  }
});

test("a thousand repeats of one cause produce fewer than 30 journal records per pod", async () => {
  const missing = { name: "A", valueFrom: { secretKeyRef: { name: "gone", key: "k" } } };
  const stage = makeStage();
  stage.create({ ...running(sick), readinessProbe: { ...HTTP, periodSeconds: 1 } });
  stage.create({ ...running(), env: [missing] }, {}, "without");
  await stage.world.advance(1_100_000);
  const records = await readJournal(stage.node.files.port, JOURNAL);
  for (const name of [NAME, "without"]) {
    const own = records.filter(({ pod }) => pod === `default/${name}`);
    assert.ok(own.length < 30, `${own.length} records: ${own.map((record) => JSON.stringify(record)).join("\n")}`);
  }
  assert.match(await sentence(stage), /Readiness probe failed: .* \(at least 1024 times since 00:00:00\)/);
});
