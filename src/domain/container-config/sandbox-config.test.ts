import assert from "node:assert/strict";
import { test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import type { PodSpec } from "../../api/gen/core-v1.ts";
import { sandboxConfig } from "./sandbox-config.ts";
import { NODE_USERS } from "./user-namespace.ts";

const configOf = (spec: Partial<PodSpec>) =>
  sandboxConfig(pod(spec), 0, {
    podLogsDir: "/var/log/pods",
    dns: { servers: [], searches: [], options: [] },
    hostname: "p",
    cgroupParent: "/kubepods",
    overhead: undefined,
    resources: undefined,
    identity: { volumeGroups: [], users: NODE_USERS },
  });

test("[25.11] ports of all containers are mapped with their host ports, without duplicates", () => {
  const { portMappings } = configOf({
    containers: [
      container("a", {
        ports: [
          { name: "web", containerPort: 80, hostPort: 8080 },
          { name: "web", containerPort: 81 },
          { containerPort: 53, protocol: "UDP", hostIP: "127.0.0.1", hostPort: 53 },
          { containerPort: 53, protocol: "UDP", hostIP: "127.0.0.1", hostPort: 53 },
          { containerPort: 53 },
        ],
      }),
      container("b", { ports: [{ containerPort: 53, protocol: "SCTP" }] }),
    ],
  });
  assert.deepEqual(
    portMappings?.map(({ protocol, containerPort, hostPort, hostIp }) => [protocol, containerPort, hostPort, hostIp]),
    [
      ["TCP", 80, 8080, ""],
      ["UDP", 53, 53, "127.0.0.1"],
      ["TCP", 53, 0, ""],
      ["SCTP", 53, 0, ""],
    ],
  );
});

test("[25.9] sysctls are passed to the sandbox in dotted form", () => {
  const sysctls = [
    { name: "net/ipv4/conf/eno2.100/rp_filter", value: "1" },
    { name: "kernel.msgmax", value: "2" },
  ];
  assert.deepEqual(configOf({ securityContext: { sysctls } }).sysctls, {
    "net.ipv4.conf.eno2/100.rp_filter": "1",
    "kernel.msgmax": "2",
  });
});
