import assert from "node:assert/strict";
import { test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import { utf8Bytes } from "../../base/utf8.ts";
import { commandOf, containerConfig } from "./container-config.ts";
import { NO_INPUTS } from "./container-inputs.ts";

const SETTINGS = {
  restartCount: 0,
  imageRef: "sha256:1",
  inputs: NO_INPUTS,
  security: { seccompDefault: false, seccompRoot: "/root/seccomp", thermalPaths: [] },
  identity: { volumeGroups: [], users: { mode: "node", uids: [], gids: [] } },
  selinux: true,
  stopSignals: false,
} as const;

test("a doubled dollar in command and args becomes a single one", () => {
  const words = ["echo $$", "$$$$", "$x", "$", "a$$b$$$c"];
  const meant = ["echo $", "$$", "$x", "$", "a$b$$c"];
  assert.deepEqual(commandOf(container("app", { command: words, args: words }), []), {
    kind: "argv",
    command: meant,
    args: meant,
  });
});

test("[7.21] command and args expand only the container's variables; a value that is not UTF-8 is an error", () => {
  const environment = [
    { name: "MESSAGE", value: utf8Bytes("hällo $(MESSAGE)") },
    { name: "BAD", value: Uint8Array.of(0xff) },
  ];
  const words = { command: ["sh", "-c", "echo $(MESSAGE)"], args: ["$(NONE)", "$$(MESSAGE)", "$(MESSAGE)$(MESSAGE)"] };
  assert.deepEqual(commandOf(container("app", words), environment), {
    kind: "argv",
    command: ["sh", "-c", "echo hällo $(MESSAGE)"],
    args: ["$(NONE)", "$(MESSAGE)", "hällo $(MESSAGE)hällo $(MESSAGE)"],
  });
  assert.deepEqual(commandOf(container("app"), environment), { kind: "argv", command: [], args: [] });
  const noText = { kind: "noText", message: "grpc: error while marshaling: string field contains invalid UTF-8" };
  assert.deepEqual(commandOf(container("app", { args: ["x$(BAD)"] }), environment), noText);
  assert.deepEqual(commandOf(container("app", { command: ["x$(BAD)"] }), environment), noText);
});

test("mounts are not relabeled on a node without SELinux", () => {
  const mounts = [
    { hostPath: "/pods/1/v", containerPath: "/v", selinuxRelabel: true },
    { hostPath: "/pods/1/etc-hosts", containerPath: "/etc/hosts", selinuxRelabel: true },
  ];
  const inputs = { ...NO_INPUTS, mounts };
  const mountsOn = (selinux: boolean) =>
    containerConfig(pod(), container("app"), { ...SETTINGS, inputs, selinux }).mounts;
  assert.deepEqual(mountsOn(true), mounts);
  assert.deepEqual(
    mountsOn(false)?.map(({ containerPath, selinuxRelabel }) => [containerPath, selinuxRelabel]),
    [
      ["/v", false],
      ["/etc/hosts", false],
    ],
  );
});

test("[27.3.6] the image has the name that the pull returned and the one of the spec, and no annotations", () => {
  const { image } = containerConfig(pod({}, { annotations: { a: "1" } }), container("app"), SETTINGS);
  assert.deepEqual(image, { image: "sha256:1", userSpecifiedImage: "busybox" });
});

test("without runAsUser a container runs as its image's uid or user name, else as root", () => {
  const security = (imageUser: { readonly uid?: bigint; readonly username?: string }) => {
    const config = containerConfig(pod(), container("app"), {
      ...SETTINGS,
      inputs: { ...NO_INPUTS, imageUser },
    });
    return { runAsUser: config.security?.runAsUser, runAsUsername: config.security?.runAsUsername };
  };
  assert.deepEqual(security({}), { runAsUser: 0n, runAsUsername: undefined });
  assert.deepEqual(security({ uid: 7n }), { runAsUser: 7n, runAsUsername: undefined });
  assert.deepEqual(security({ username: "www" }), { runAsUser: undefined, runAsUsername: "www" });
});

test("[7.20] an ephemeral container joins its target's PID namespace unless the pod shares its own or the host's", () => {
  const namespaces = (spec: Parameters<typeof pod>[0]) => {
    const { security } = containerConfig(pod(spec), container("debug"), { ...SETTINGS, targetId: "app-0" });
    return [security?.namespaces?.pid, security?.namespaces?.targetId];
  };
  assert.deepEqual(namespaces({}), ["target", "app-0"]);
  assert.deepEqual(namespaces({ shareProcessNamespace: true }), ["pod", undefined]);
  assert.deepEqual(namespaces({ hostPID: true }), ["node", undefined]);
});

test("[7.16] a container's stopSignal is passed to the runtime when the gate is enabled, else left out", () => {
  const own = container("app", { lifecycle: { stopSignal: "SIGUSR1" } });
  assert.equal(containerConfig(pod(), own, { ...SETTINGS, stopSignals: true }).stopSignal, "SIGUSR1");
  assert.equal(containerConfig(pod(), container("app"), { ...SETTINGS, stopSignals: true }).stopSignal, undefined);
  assert.equal("stopSignal" in containerConfig(pod(), own, SETTINGS), false);
});
