import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerStatus } from "../../api/gen/core-v1.ts";
import { logSource, runtimeId } from "./log-source.ts";

const status = (state: ContainerStatus["state"], lastState: ContainerStatus["lastState"] = {}): ContainerStatus => ({
  name: "c",
  image: "",
  imageID: "",
  ready: false,
  restartCount: 0,
  containerID: "r://now",
  state: state ?? {},
  lastState: lastState ?? {},
});
const ended = (containerID?: string) => ({
  terminated: { exitCode: 1, ...(containerID === undefined ? {} : { containerID }) },
});
const waiting = (reason: string) => ({ waiting: { reason } });

const asked = (of: ContainerStatus | undefined, previous = false) => {
  const source = logSource(of, { pod: "p", container: "c", previous });
  return source.kind === "container" ? source.id : source.why;
};

test("[19.4] the log is the current container's, or the last terminated one's", () => {
  assert.equal(asked(status({ running: {} }, ended("r://last"))), "r://now");
  assert.equal(asked(status(ended("r://ended"), ended("r://last"))), "r://ended");
  assert.equal(asked(status(ended(), ended("r://last"))), "r://last");
  assert.equal(asked(status(waiting("CrashLoopBackOff"), ended("r://last"))), "r://last");
});

test("[19.4] previous selects the last terminated container, and is refused without one", () => {
  assert.equal(asked(status({ running: {} }, ended("r://last")), true), "r://last");
  const none = 'previous terminated container "c" in pod "p" not found';
  assert.equal(asked(status({ running: {} }), true), none);
  assert.equal(asked(status({ running: {} }, ended()), true), none);
});

test("[19.4] a container without a log is refused with the Go kubelet's message", () => {
  const name = 'container "c" in pod "p"';
  assert.equal(asked(undefined), `${name} is not available`);
  assert.equal(asked(status(ended())), `${name} is terminated`);
  assert.equal(asked(status(waiting("x"), ended())), `${name} is terminated`);
  assert.equal(asked(status(waiting("ContainerCreating"))), `${name} is waiting to start: ContainerCreating`);
  assert.equal(asked(status(waiting("ErrImagePull"))), `${name} is waiting to start: image can't be pulled`);
  assert.equal(
    asked(status(waiting("ImagePullBackOff"))),
    `${name} is waiting to start: trying and failing to pull image`,
  );
  assert.equal(asked(status({})), `${name} is waiting to start - no logs yet`);
});

test("runtimeId strips the scheme of a container ID", () => {
  assert.equal(runtimeId("containerd://abc"), "abc");
  assert.equal(runtimeId("abc"), "abc");
});
