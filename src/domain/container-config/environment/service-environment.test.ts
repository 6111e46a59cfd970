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

test("[24.6] a Service has variables for each port by number and name, and legacy ones for the first port", () => {
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

test("[24.6] an IPv6 address is in brackets before a port, and bare elsewhere", () => {
  const lines = variables([service("shop", "six", { clusterIP: "2001:db8::5", ports: [{ port: 8080 }] })]);
  assert.deepEqual(
    lines.filter((line) => /_HOST=|_PORT=tcp|_ADDR=/.test(line)),
    ["SIX_SERVICE_HOST=2001:db8::5", "SIX_PORT=tcp://[2001:db8::5]:8080", "SIX_PORT_8080_TCP_ADDR=2001:db8::5"],
  );
});

test("[24.6] Services of other namespaces, headless Services and those without a cluster IP are left out", () => {
  const ports = [{ port: 1 }];
  const services = [
    service("other", "a", { clusterIP: "198.19.0.2", ports }),
    service("shop", "headless", { clusterIP: "None", ports }),
    service("shop", "named", { externalName: "example.com" }),
  ];
  assert.deepEqual(variables(services), []);
});

test("[24.6] the API server's Service is present in every namespace, also without service links", () => {
  const own = service("shop", "own", { clusterIP: "198.19.0.3", ports: [{ port: 1 }] });
  assert.deepEqual(variables([own, MASTER], "shop", false), OF_MASTER);
  assert.deepEqual(variables([MASTER], "default", false), OF_MASTER);
  assert.deepEqual(variables([MASTER, own], "shop").slice(0, OF_MASTER.length), OF_MASTER);
});

test("[24.6] a Service named kubernetes in the pod's namespace replaces the API server's if links are enabled", () => {
  const own = service("shop", "kubernetes", { clusterIP: "198.19.0.9", ports: [{ port: 6443 }] });
  for (const order of [
    [own, MASTER],
    [MASTER, own],
  ]) {
    assert.equal(variables(order)[0], "KUBERNETES_SERVICE_HOST=198.19.0.9");
    assert.equal(variables(order, "shop", false)[0], "KUBERNETES_SERVICE_HOST=198.19.0.1");
  }
});

test("[24.6] the variables do not depend on the order of the Services", () => {
  const [a, b] = ["a", "b"].map((name) => service("shop", name, { clusterIP: "198.19.0.4", ports: [{ port: 1 }] }));
  assert.ok(a !== undefined && b !== undefined);
  assert.deepEqual(variables([a, b]), variables([b, a]));
});
