import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service, ServiceSpec } from "../../../api/gen/core-v1.ts";
import { serviceEnvironment } from "./service-environment.ts";

const service = (namespace: string, name: string, spec: ServiceSpec): Service => ({
  metadata: { namespace, name },
  spec,
});
const variables = (services: readonly Service[], namespace = "shop", links = true) =>
  [...serviceEnvironment(services, namespace, links)].map(([name, value]) => `${name}=${value}`);

const MASTER = service("default", "kubernetes", {
  clusterIP: "198.19.0.1",
  ports: [{ name: "https", port: 443, protocol: "TCP" }],
});
const OF_MASTER = [
  "KUBERNETES_SERVICE_HOST=198.19.0.1",
  "KUBERNETES_SERVICE_PORT=443",
  "KUBERNETES_SERVICE_PORT_HTTPS=443",
  "KUBERNETES_PORT=tcp://198.19.0.1:443",
  "KUBERNETES_PORT_443_TCP=tcp://198.19.0.1:443",
  "KUBERNETES_PORT_443_TCP_PROTO=tcp",
  "KUBERNETES_PORT_443_TCP_PORT=443",
  "KUBERNETES_PORT_443_TCP_ADDR=198.19.0.1",
];

test("[24.6] every port of a Service, by number and by name, and the first one under the old names too", () => {
  const web = service("shop", "web-front", {
    clusterIP: "198.19.0.7",
    ports: [{ port: 80 }, { name: "dns-udp", port: 53, protocol: "UDP" }],
  });
  assert.deepEqual(variables([web]), [
    "WEB_FRONT_SERVICE_HOST=198.19.0.7",
    "WEB_FRONT_SERVICE_PORT=80",
    "WEB_FRONT_SERVICE_PORT_DNS_UDP=53",
    "WEB_FRONT_PORT=tcp://198.19.0.7:80",
    "WEB_FRONT_PORT_80_TCP=tcp://198.19.0.7:80",
    "WEB_FRONT_PORT_80_TCP_PROTO=tcp",
    "WEB_FRONT_PORT_80_TCP_PORT=80",
    "WEB_FRONT_PORT_80_TCP_ADDR=198.19.0.7",
    "WEB_FRONT_PORT_53_UDP=udp://198.19.0.7:53",
    "WEB_FRONT_PORT_53_UDP_PROTO=udp",
    "WEB_FRONT_PORT_53_UDP_PORT=53",
    "WEB_FRONT_PORT_53_UDP_ADDR=198.19.0.7",
  ]);
});

test("[24.6] an address of IPv6 stands in brackets before its port, and bare elsewhere", () => {
  const lines = variables([service("shop", "six", { clusterIP: "2001:db8::5", ports: [{ port: 8080 }] })]);
  assert.deepEqual(
    lines.filter((line) => /_HOST=|_PORT=tcp|_ADDR=/.test(line)),
    ["SIX_SERVICE_HOST=2001:db8::5", "SIX_PORT=tcp://[2001:db8::5]:8080", "SIX_PORT_8080_TCP_ADDR=2001:db8::5"],
  );
});

test("[24.6] Services of other namespaces, headless ones and ones without an address are left out", () => {
  const ports = [{ port: 1 }];
  const services = [
    service("other", "a", { clusterIP: "198.19.0.2", ports }),
    service("shop", "headless", { clusterIP: "None", ports }),
    service("shop", "named", { externalName: "example.com" }),
  ];
  assert.deepEqual(variables(services), []);
});

test("[24.6] the API server's own is there in every namespace, also for pods that want no Services", () => {
  const own = service("shop", "own", { clusterIP: "198.19.0.3", ports: [{ port: 1 }] });
  assert.deepEqual(variables([own, MASTER], "shop", false), OF_MASTER);
  assert.deepEqual(variables([MASTER], "default", false), OF_MASTER);
  assert.deepEqual(variables([MASTER, own], "shop").slice(0, OF_MASTER.length), OF_MASTER);
});

test("[24.6] a Service called kubernetes in the pod's own namespace stands before it, in whatever order they come", () => {
  const own = service("shop", "kubernetes", { clusterIP: "198.19.0.9", ports: [{ port: 6443 }] });
  for (const order of [
    [own, MASTER],
    [MASTER, own],
  ]) {
    assert.equal(variables(order)[0], "KUBERNETES_SERVICE_HOST=198.19.0.9");
    assert.equal(variables(order, "shop", false)[0], "KUBERNETES_SERVICE_HOST=198.19.0.1");
  }
});

test("[24.6] the order of the Services does not depend on the order in which they came", () => {
  const [a, b] = ["a", "b"].map((name) => service("shop", name, { clusterIP: "198.19.0.4", ports: [{ port: 1 }] }));
  assert.ok(a !== undefined && b !== undefined);
  assert.deepEqual(variables([a, b]), variables([b, a]));
});
