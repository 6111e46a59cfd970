/** A runtime that refuses one call about a pod: the events of both agents report it alike to the pod's owner. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Pod, PodSpec } from "../../../src/api/gen/core-v1.ts";
import type { CriProxy } from "../../cluster/cri-proxy.ts";
import { waitUntil } from "../../cluster/wait.ts";
import type { Recording } from "../../golden/recording.ts";
import { NODES, type Side } from "../../golden/sides.ts";
import { type ClusterPods, hasEndedWhole, podOn, SLEEPER, sh } from "../../support/cluster-pods.ts";
import { answered, podUidOfCall } from "../../support/cri-log.ts";
import { neutralText } from "../../support/normal-form.ts";

interface World {
  readonly recording: Recording;
  readonly pods: () => ClusterPods;
  readonly proxy: (side: Side) => CriProxy;
}

const REFUSAL = { code: 2, details: "the runtime refuses" };
const WAIT_MS = 120_000;
/** Longer than it takes to observe that the container runs and to begin to refuse. */
const SHORT_LIFE_SECONDS = 5;

interface Refused {
  readonly method: "StopContainer" | "StopPodSandbox" | "ContainerStatus";
  readonly reason: "FailedKillPod" | "FailedSync";
  readonly spec: Partial<PodSpec>;
}

const KILLED = { terminationGracePeriodSeconds: 1, containers: [SLEEPER] };
const REFUSED: readonly Refused[] = [
  { method: "StopContainer", reason: "FailedKillPod", spec: KILLED },
  { method: "StopPodSandbox", reason: "FailedKillPod", spec: KILLED },
  {
    method: "ContainerStatus",
    reason: "FailedSync",
    spec: { restartPolicy: "Never", containers: [sh(`sleep ${SHORT_LIFE_SECONDS}`)] },
  },
];

export function runtimeRefusals({ recording, pods, proxy }: World): void {
  void suite("a runtime that refuses a call", () => {
    for (const { method, reason, spec } of REFUSED) {
      test(`[23.2] ${method}: the event ${reason} has the same message, and the pod terminates once the runtime stops refusing`, async () => {
        await recording.check(`${method} is refused: ${reason}`, async (side) => {
          const name = `refused-${method.toLowerCase()}-${NODES[side]}`;
          await pods().create(podOn(NODES[side], name, spec));
          const pod = await pods().running(name, WAIT_MS);
          const unhook = refuse(proxy(side), method, pod);
          try {
            if (reason === "FailedKillPod") await pods().delete(name);
            const messages = () => messagesOf(name, reason);
            await waitUntil(`the event ${reason} of ${name}`, WAIT_MS, async () => (await messages()).length > 0, 200);
            return (await messages()).map((message) => neutralText(message, pod));
          } finally {
            unhook();
            if (reason === "FailedKillPod") await pods().gone(name, WAIT_MS);
            else await pods().first(name, "ended", hasEndedWhole, WAIT_MS);
          }
        });
      });
    }
  });

  async function messagesOf(name: string, reason: string): Promise<readonly string[]> {
    const events = (await pods().eventsOf(name)).filter((event) => event.reason === reason);
    return events.map(({ message }) => message ?? "");
  }
}

/** Refuses calls about the containers and the sandbox of this pod. */
function refuse(proxy: CriProxy, method: Refused["method"], { metadata }: Pod): () => void {
  const about = (made: string) => answered(proxy.calls, made).filter((call) => podUidOfCall(call) === metadata?.uid);
  const ids = new Set([
    ...about("RunPodSandbox").map(({ answer }) => (answer as { readonly podSandboxId: string }).podSandboxId),
    ...about("CreateContainer").map(({ answer }) => (answer as { readonly containerId: string }).containerId),
  ]);
  assert.equal(ids.size, 2, "one sandbox, one container");
  const idOf = (request: unknown) =>
    Object(request) as { readonly containerId?: string; readonly podSandboxId?: string };
  return proxy.hook(method, {
    before: (request) => {
      const { containerId, podSandboxId } = idOf(request);
      if (ids.has(containerId ?? podSandboxId ?? "")) throw REFUSAL;
    },
  });
}
