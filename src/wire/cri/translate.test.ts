import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import type { ContainerConfig } from "../../domain/runtime/container.ts";
import type { SandboxConfig } from "../../domain/runtime/sandbox.ts";
import {
  ContainerConfigSchema,
  ContainerStatusSchema,
  LinuxContainerResourcesSchema,
  PodSandboxConfigSchema,
} from "./gen/api_pb.js";
import { fromContainerStatus, toContainerConfig } from "./translate-container.ts";
import { fromResources, toResources } from "./translate-resources.ts";
import { toSandboxConfig } from "./translate-sandbox.ts";

test("every field of a sandbox config is sent under its CRI name", () => {
  const config: Required<SandboxConfig> = {
    metadata: { name: "n", namespace: "ns", uid: "u", attempt: 2 },
    hostname: "h",
    logDirectory: "/log",
    dns: { servers: ["1"], searches: ["2"], options: ["3"] },
    portMappings: [{ protocol: "SCTP", containerPort: 1, hostPort: 2, hostIp: "3" }],
    labels: { l: "1" },
    annotations: { a: "2" },
    cgroupParent: "/parent",
    security: {
      namespaces: { network: "pod", pid: "container", ipc: "node" },
      selinux: { user: "u", role: "r", type: "t", level: "l" },
      runAsUser: 0n,
      runAsGroup: 7n,
      readonlyRootfs: true,
      supplementalGroups: [8n],
      supplementalGroupsPolicy: "strict",
      privileged: true,
      seccomp: { kind: "localhost", reference: "/p" },
      apparmor: { kind: "unconfined" },
    },
    sysctls: { "net.a": "1" },
    overhead: { cpuShares: 1 },
    resources: { memoryLimitBytes: 2n ** 60n },
  };
  const sent = create(PodSandboxConfigSchema, toSandboxConfig(config, "RunPodSandbox"));
  assert.deepEqual(toJson(PodSandboxConfigSchema, sent), {
    metadata: { name: "n", uid: "u", namespace: "ns", attempt: 2 },
    hostname: "h",
    logDirectory: "/log",
    dnsConfig: { servers: ["1"], searches: ["2"], options: ["3"] },
    portMappings: [{ protocol: "SCTP", containerPort: 1, hostPort: 2, hostIp: "3" }],
    labels: { l: "1" },
    annotations: { a: "2" },
    linux: {
      cgroupParent: "/parent",
      securityContext: {
        namespaceOptions: { pid: "CONTAINER", ipc: "NODE" },
        selinuxOptions: { user: "u", role: "r", type: "t", level: "l" },
        runAsUser: {},
        runAsGroup: { value: "7" },
        readonlyRootfs: true,
        supplementalGroups: ["8"],
        supplementalGroupsPolicy: "Strict",
        privileged: true,
        seccomp: { profileType: "Localhost", localhostRef: "/p" },
        apparmor: { profileType: "Unconfined" },
      },
      sysctls: { "net.a": "1" },
      overhead: { cpuShares: "1" },
      resources: { memoryLimitInBytes: (2n ** 60n).toString() },
    },
  });
});

const wholeContainer: Required<ContainerConfig> = {
  metadata: { name: "n", attempt: 1 },
  image: { image: "i", annotations: { x: "y" }, userSpecifiedImage: "u", runtimeHandler: "h", imageRef: "r" },
  command: ["c"],
  args: ["a"],
  workingDirectory: "/w",
  environment: [{ name: "E", value: new Uint8Array([255, 0]) }],
  mounts: [
    {
      containerPath: "/c",
      hostPath: "/h",
      readonly: true,
      recursiveReadonly: true,
      selinuxRelabel: true,
      propagation: "bidirectional",
      uidMappings: [{ hostId: 1, containerId: 2, length: 3 }],
      gidMappings: [{ hostId: 4, containerId: 5, length: 6 }],
      image: { image: "m" },
      imageSubPath: "s",
    },
  ],
  devices: [{ containerPath: "/d", hostPath: "/e", permissions: "rw" }],
  cdiDevices: ["v/c=d"],
  labels: { l: "1" },
  annotations: { a: "2" },
  logPath: "0.log",
  stdin: true,
  stdinOnce: true,
  tty: true,
  resources: { oomScoreAdj: -998 },
  security: {
    namespaces: { network: "pod", pid: "target", ipc: "pod", targetId: "t", user: { mode: "pod", uids: [], gids: [] } },
    apparmor: { kind: "localhost", reference: "profile" },
    runAsUsername: "root",
    noNewPrivileges: true,
    maskedPaths: ["/m"],
    readonlyPaths: ["/r"],
    capabilities: { add: ["A"], drop: ["D"], addAmbient: ["B"] },
  },
  stopSignal: "SIGRTMIN+3",
};

test("every field of a container config is sent under its CRI name", () => {
  const sent = create(ContainerConfigSchema, toContainerConfig(wholeContainer));
  assert.deepEqual(toJson(ContainerConfigSchema, sent), {
    metadata: { name: "n", attempt: 1 },
    image: { image: "i", annotations: { x: "y" }, userSpecifiedImage: "u", runtimeHandler: "h", imageRef: "r" },
    command: ["c"],
    args: ["a"],
    workingDir: "/w",
    envs: [{ key: "E", value: "/wA=" }],
    mounts: [
      {
        containerPath: "/c",
        hostPath: "/h",
        readonly: true,
        recursiveReadOnly: true,
        selinuxRelabel: true,
        propagation: "PROPAGATION_BIDIRECTIONAL",
        uidMappings: [{ hostId: 1, containerId: 2, length: 3 }],
        gidMappings: [{ hostId: 4, containerId: 5, length: 6 }],
        image: { image: "m" },
        imageSubPath: "s",
      },
    ],
    devices: [{ containerPath: "/d", hostPath: "/e", permissions: "rw" }],
    CDIDevices: [{ name: "v/c=d" }],
    labels: { l: "1" },
    annotations: { a: "2" },
    logPath: "0.log",
    stdin: true,
    stdinOnce: true,
    tty: true,
    linux: {
      resources: { oomScoreAdj: "-998" },
      securityContext: {
        namespaceOptions: { pid: "TARGET", targetId: "t", usernsOptions: {} },
        apparmor: { profileType: "Localhost", localhostRef: "profile" },
        apparmorProfile: "localhost/profile",
        runAsUsername: "root",
        noNewPrivs: true,
        maskedPaths: ["/m"],
        readonlyPaths: ["/r"],
        capabilities: { addCapabilities: ["A"], dropCapabilities: ["D"], addAmbientCapabilities: ["B"] },
      },
    },
    stopSignal: "SIGRTMINPLUS3",
  });
});

test("a container status returns the mounts that were requested", () => {
  const { mounts, image, metadata } = create(ContainerConfigSchema, toContainerConfig(wholeContainer));
  const bytes = toBinary(
    ContainerStatusSchema,
    create(ContainerStatusSchema, { id: "c", createdAt: 2n ** 62n, mounts, image, metadata }),
  );
  const status = fromContainerStatus(fromBinary(ContainerStatusSchema, bytes));
  assert.deepEqual(status.mounts, wholeContainer.mounts);
  assert.deepEqual(status.image, wholeContainer.image);
  assert.equal(status.createdWallNs, 2n ** 62n);
});

test("resources survive a round trip, and empty ones become oomScoreAdj 0", () => {
  const resources = {
    cpuPeriodUs: 100_000,
    cpuQuotaUs: -1,
    cpuShares: 2,
    memoryLimitBytes: 2n ** 62n,
    memorySwapLimitBytes: 2n ** 62n + 1n,
    oomScoreAdj: -997,
    cpusetCpus: "0-1",
    cpusetMems: "0",
    hugepageLimits: [{ pageSize: "2MB", limitBytes: 2n ** 63n }],
    unified: { "memory.oom.group": "1" },
  };
  const there = create(LinuxContainerResourcesSchema, toResources(resources, "test"));
  assert.deepEqual(fromResources(there), resources);
  assert.deepEqual(fromResources(create(LinuxContainerResourcesSchema, toResources({}, "test"))), { oomScoreAdj: 0 });
});

test("a value beyond the safe integers is rejected, not rounded", () => {
  const resources = create(LinuxContainerResourcesSchema, { cpuQuota: 2n ** 53n });
  assert.throws(() => fromResources(resources), { name: "Malformed", message: /CPU quota/ });
});
