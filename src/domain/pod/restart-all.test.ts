import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { CONTAINER_NAME_LABEL } from "../container-config/cri-keys.ts";
import { isRestartingAll, mayRestartAll, restartAllStep } from "./restart-all.ts";
import type { PodContainer, PodRuntimeView } from "./runtime-view.ts";

const ruled = (name: string, action: string): Container => ({
  name,
  restartPolicy: "Never",
  restartPolicyRules: [{ action, exitCodes: { operator: "In", values: [42] } }],
});

const pod: Pod = {
  spec: {
    restartPolicy: "Never",
    initContainers: [{ name: "setup" }, { name: "proxy", restartPolicy: "Always" }],
    containers: [{ name: "app" }, ruled("watcher", "RestartAllContainers")],
  },
};

const instance = (name: string, state: PodContainer["state"], exitCode = 0): PodContainer => ({
  id: `${name}-id`,
  sandboxId: "s",
  metadata: { name, attempt: 0 },
  state,
  createdWallNs: 1n,
  startedWallNs: 1n,
  ...(state === "exited" ? { finishedWallNs: 2n } : {}),
  exitCode,
  reason: "",
  message: "",
  image: { image: "" },
  imageRef: "",
  imageId: "",
  labels: { [CONTAINER_NAME_LABEL]: name },
  annotations: {},
  mounts: [],
  logPath: "",
});

const view = (...containers: readonly PodContainer[]): PodRuntimeView => ({ uid: "u", sandboxes: [], containers });

describe("RestartAllContainers", () => {
  test("[7.12] starts after the exit of a container whose rule matches, and after no other", () => {
    assert.equal(mayRestartAll(pod), true);
    assert.equal(mayRestartAll({ spec: { containers: [ruled("a", "Restart")] } }), false);
    assert.equal(isRestartingAll(pod, view(instance("watcher", "exited", 42))), true);
    assert.equal(isRestartingAll(pod, view(instance("watcher", "exited", 41))), false);
    assert.equal(isRestartingAll(pod, view(instance("watcher", "running"))), false);
    assert.equal(isRestartingAll(pod, view(instance("app", "exited", 42))), false);
  });

  test("[7.12] does not start for a container that was already removed", () => {
    assert.equal(isRestartingAll(pod, view({ ...instance("watcher", "exited", 42), sandboxId: "" })), false);
  });

  test("[7.12] stops all running containers at once, except ephemeral ones", () => {
    const step = restartAllStep(
      pod,
      view(
        instance("watcher", "exited", 42),
        instance("app", "running"),
        instance("proxy", "running"),
        instance("debug", "running"),
        instance("setup", "exited"),
      ),
    );
    assert.deepEqual(step, {
      kind: "stopContainers",
      containers: ["app", "proxy"].map((name) => ({ id: `${name}-id`, name, reason: { kind: "restartingAll" } })),
    });
  });

  test("[7.12] then removes all containers, the triggering one last", () => {
    const step = restartAllStep(
      pod,
      view(
        instance("watcher", "exited", 42),
        instance("app", "exited", 137),
        instance("proxy", "created"),
        instance("setup", "exited"),
      ),
    );
    assert.deepEqual(step, {
      kind: "removeForRestart",
      first: ["app-id", "setup-id", "proxy-id"],
      last: ["watcher-id"],
    });
  });

  test("[7.12] is complete once no triggering container is left", () => {
    assert.equal(restartAllStep(pod, view()), undefined);
    assert.equal(restartAllStep(pod, view(instance("app", "exited", 1))), undefined);
  });
});
