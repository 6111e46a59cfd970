/** Cases of environment variables, commands, host names and DNS resolvers. */
import type { Container, EnvVar, PodSpec } from "../../../../src/api/gen/core-v1.ts";
import { type Case, type Ending, FAILS, reported, SUCCEEDS, scripted, VIEW_SCRIPT, viewer, waits } from "../case.ts";

const plain = (container: Partial<Container> = {}, pod: Partial<PodSpec> = {}): Partial<PodSpec> => ({
  containers: [viewer(container)],
  ...pod,
});
const of = (
  name: string,
  rows: readonly string[],
  spec: Case["spec"],
  ending: Ending = SUCCEEDS,
  more: Pick<Case, "metadata"> = {},
): Case => ({ name, rows, ending, spec, ...more });

const REFUSED = waits("CreateContainerConfigError");
const value = (name: string, text: string): EnvVar => ({ name, value: text });
const fromMap = (name: string, map: string, key: string, optional?: boolean): EnvVar => ({
  name,
  valueFrom: { configMapKeyRef: { name: map, key, ...(optional === undefined ? {} : { optional }) } },
});
const fromSecret = (name: string, secret: string, key: string, optional?: boolean): EnvVar => ({
  name,
  valueFrom: { secretKeyRef: { name: secret, key, ...(optional === undefined ? {} : { optional }) } },
});
const fromField = (name: string, fieldPath: string): EnvVar => ({ name, valueFrom: { fieldRef: { fieldPath } } });
const fromResource = (name: string, resource: string, divisor = "0", containerName?: string): EnvVar => ({
  name,
  valueFrom: { resourceFieldRef: { resource, divisor, ...(containerName === undefined ? {} : { containerName }) } },
});

const VARIABLES: readonly Case[] = [
  of(
    "env-plain",
    ["24.7", "7.21"],
    plain({
      env: [
        value("FIRST", "one"),
        value("SECOND", "$(FIRST) and $(THIRD) and $$(FIRST) and $(NOBODY) and $FIRST $$ $( x"),
        value("THIRD", "three"),
        value("FIRST", "again, after $(FIRST)"),
        value("EMPTY", ""),
        value("LINES", "a\nb\n"),
        value("UMLAUT", "ü €"),
        value("HOST", "$(KUBERNETES_SERVICE_HOST):$(WEB_SERVICE_PORT_HTTP)"),
      ],
    }),
  ),
  of(
    "env-from",
    ["24.7"],
    plain({
      envFrom: [
        { configMapRef: { name: "variables" } },
        { secretRef: { name: "hidden-variables" } },
        { prefix: "P_", configMapRef: { name: "variables" } },
        { prefix: "S_", secretRef: { name: "hidden-variables" } },
        { configMapRef: { name: "absent", optional: true } },
        { secretRef: { name: "absent", optional: true } },
      ],
      env: [value("FIRST", "own, not $(FIRST)"), value("BOTH", "$(SHARED)/$(P_SHARED)/$(S_SECOND)")],
    }),
  ),
  of(
    "env-keys",
    ["24.7"],
    plain({
      env: [
        fromMap("ONE", "words", "one"),
        fromMap("TWO", "words", "two"),
        fromSecret("USER", "hidden", "user"),
        fromSecret("NOTHING", "hidden", "empty"),
        fromMap("NO_MAP", "absent", "x", true),
        fromMap("NO_KEY", "words", "absent", true),
        fromSecret("NO_SECRET", "absent", "x", true),
        fromSecret("NO_SECRET_KEY", "hidden", "absent", true),
        value("ALL", "$(ONE)$(USER)$(NO_KEY)"),
      ],
    }),
  ),
  of("env-map-missing", ["24.7"], plain({ env: [fromMap("X", "absent", "x")] }), REFUSED),
  of("env-map-key-missing", ["24.7"], plain({ env: [fromMap("X", "words", "absent")] }), REFUSED),
  of("env-map-bytes", ["24.7"], plain({ env: [fromMap("X", "words", "bytes")] }), REFUSED),
  of("env-secret-missing", ["24.7"], plain({ env: [fromSecret("X", "absent", "x")] }), REFUSED),
  of("env-secret-key-missing", ["24.7"], plain({ env: [fromSecret("X", "hidden", "absent")] }), REFUSED),
  of("env-secret-bytes", ["24.7"], plain({ env: [fromSecret("X", "hidden", "key")] })),
  of("env-from-map-missing", ["24.7"], plain({ envFrom: [{ configMapRef: { name: "absent" } }] }), REFUSED),
  of("env-from-secret-missing", ["24.7"], plain({ envFrom: [{ secretRef: { name: "absent" } }] }), REFUSED),
];

const FIELDS = [
  fromField("NAME", "metadata.name"),
  fromField("NAMESPACE", "metadata.namespace"),
  fromField("UID_", "metadata.uid"),
  fromField("LABEL", "metadata.labels['example.com/tier']"),
  fromField("NO_LABEL", "metadata.labels['absent']"),
  fromField("ANNOTATION", "metadata.annotations['note']"),
  fromField("NODE", "spec.nodeName"),
  fromField("ACCOUNT", "spec.serviceAccountName"),
  fromField("HOST_IP", "status.hostIP"),
  fromField("HOST_IPS", "status.hostIPs"),
  fromField("POD_IP", "status.podIP"),
  fromField("POD_IPS", "status.podIPs"),
];
const METADATA = { labels: { "example.com/tier": "front" }, annotations: { note: "two\nlines" } };
const RESOURCES = [
  fromResource("CPU", "limits.cpu"),
  fromResource("CPU_MILLI", "limits.cpu", "1m"),
  fromResource("CPU_ASKED", "requests.cpu", "1m"),
  fromResource("MEMORY", "limits.memory"),
  fromResource("MEMORY_MEBI", "limits.memory", "1Mi"),
  fromResource("MEMORY_ASKED", "requests.memory", "1M"),
  fromResource("DISK", "limits.ephemeral-storage", "1Gi"),
  fromResource("DISK_ASKED", "requests.ephemeral-storage", "1Ki"),
];

const OWN: readonly Case[] = [
  of("env-fields", ["24.8"], plain({ env: FIELDS }, { serviceAccountName: "builder" }), SUCCEEDS, {
    metadata: METADATA,
  }),
  of("env-fields-command", ["24.8"], plain({ env: FIELDS, command: ["/bin/$(NAME).$(NAMESPACE)"] }), FAILS),
  of("env-fields-host", ["24.8"], plain({ env: FIELDS }, { hostNetwork: true }), SUCCEEDS, { metadata: METADATA }),
  of(
    "env-resources",
    ["24.9"],
    plain({
      env: RESOURCES,
      resources: {
        limits: { cpu: "1500m", memory: "100Mi", "ephemeral-storage": "3Gi" },
        requests: { cpu: "10m", memory: "33Mi", "ephemeral-storage": "100M" },
      },
    }),
  ),
  of("env-resources-unset", ["24.9"], plain({ env: RESOURCES })),
  of("env-resources-of-other", ["24.9"], {
    containers: [
      viewer({ env: [fromResource("CPU", "limits.cpu", "1m", "other")] }),
      viewer({ name: "other", resources: { limits: { cpu: "70m" } } }),
    ],
  }),
  of("env-resources-unknown", ["24.9"], plain({ env: [fromResource("CPU", "limits.cpu", "0", "nobody")] }), REFUSED),
  of("env-services", ["24.6"], plain()),
  of("env-services-absent", ["24.6"], plain({ command: ["/bin/$(WEB_SERVICE_PORT)$(NOBODY_SERVICE_PORT)"] }), FAILS),
  of("env-services-off", ["24.6"], plain({}, { enableServiceLinks: false })),
  of(
    "env-services-own",
    ["24.6", "24.7"],
    plain({ env: [value("WEB_SERVICE_HOST", "mine"), value("X", "$(WEB_PORT)")] }),
  ),
];

const COMMANDS: readonly Case[] = [
  of("command-expanded", ["7.21"], {
    containers: [
      viewer({
        env: [value("WORD", "word"), value("EMPTY", "")],
        args: [
          "$(WORD)",
          "$$(WORD)",
          "$$$(WORD)",
          "$(NOBODY)",
          "a$(EMPTY)b",
          "$(WORD",
          "$",
          "$(KUBERNETES_SERVICE_PORT)",
        ],
      }),
    ],
  }),
  of(
    "command-missing",
    ["7.21"],
    { containers: [{ ...viewer(), command: ["$(PROGRAM)"], env: [value("PROGRAM", "/bin/no-such-program")] }] },
    FAILS,
  ),
];

const search = (count: number, length: number) =>
  Array.from({ length: count }, (_, index) => `${String(index).padStart(2, "0")}${"s".repeat(length)}.example`);

const RESOLVERS: readonly Case[] = [
  of("dns-cluster", ["24.1", "24.5", "24.4"], plain({}, { dnsPolicy: "ClusterFirst" })),
  of("dns-host-network", ["24.1", "24.4"], plain({}, { hostNetwork: true })),
  of("dns-host-network-cluster", ["24.1"], plain({}, { hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" })),
  of("dns-default", ["24.2", "24.5"], plain({}, { dnsPolicy: "Default" })),
  of(
    "dns-none",
    ["24.2"],
    plain({}, { dnsPolicy: "None", dnsConfig: { nameservers: ["192.0.2.53"], searches: ["a.test", "b.test."] } }),
  ),
  of(
    "dns-merged",
    ["24.2", "24.3"],
    plain(
      {},
      {
        dnsConfig: {
          nameservers: ["192.0.2.53", "198.19.0.10"],
          searches: ["svc.cluster.local", "own.test"],
          options: [{ name: "ndots", value: "2" }, { name: "rotate" }, { name: "timeout", value: "3" }],
        },
      },
    ),
  ),
  of("dns-search-limit", ["24.3"], plain({}, { dnsConfig: { searches: search(29, 8) } })),
  of("dns-servers-cut", ["24.3"], plain({}, { dnsConfig: { nameservers: ["192.0.2.1", "192.0.2.2", "192.0.2.3"] } })),
  of("dns-searches-cut", ["24.3"], plain({}, { dnsConfig: { searches: search(32, 8) } })),
  of("dns-characters-cut", ["24.3"], plain({}, { dnsConfig: { searches: search(29, 58) } })),
];

const NAMES: readonly Case[] = [
  of(
    "hosts-aliases",
    ["24.4", "27.1.14"],
    plain(
      {},
      {
        hostAliases: [
          { ip: "192.0.2.7", hostnames: ["one", "one.test"] },
          { ip: "2001:db8::1", hostnames: ["six"] },
        ],
      },
    ),
  ),
  of(
    "hosts-aliases-host-network",
    ["24.4"],
    plain({}, { hostNetwork: true, hostAliases: [{ ip: "192.0.2.7", hostnames: ["one"] }] }),
  ),
  of("hosts-subdomain", ["7.27", "24.4", "27.1.14"], plain({}, { hostname: "chosen", subdomain: "below" })),
  of("hosts-whole-name", ["24.4"], plain({}, { hostname: "chosen", subdomain: "below", setHostnameAsFQDN: true })),
  of("hosts-own", ["24.4"], {
    volumes: [{ name: "own", configMap: { name: "own-hosts" } }],
    containers: [viewer({ volumeMounts: [{ name: "own", mountPath: "/etc/hosts", subPath: "hosts" }] })],
  }),
  of("hosts-two-containers", ["24.4", "27.1.14"], {
    containers: [viewer(), scripted(`echo '192.0.2.9 added' >> /etc/hosts; ${VIEW_SCRIPT}`, { name: "other" })],
  }),
  of(
    "hosts-name-too-long",
    ["7.27", "24.4", "27.1.14"],
    plain({}, { hostname: "h".repeat(40), subdomain: "s".repeat(40), setHostnameAsFQDN: true }),
    reported("too long"),
  ),
];

export const ENVIRONMENT_CASES: readonly Case[] = [...VARIABLES, ...OWN, ...COMMANDS, ...RESOLVERS, ...NAMES];

/** For agents without a cluster DNS server. The node's own resolv.conf is different for each step. */
export const WITHOUT_CLUSTER_DNS: readonly Case[] = [
  of("dns-cluster-unknown", ["24.1", "24.3"], plain()),
  of("dns-host-file-cut", ["24.3", "24.2"], plain({}, { dnsPolicy: "Default" })),
];
export const WITHOUT_RESOLVER_FILE: readonly Case[] = [
  of(
    "dns-searches-file-missing",
    ["24.3"],
    plain({}, { dnsConfig: { searches: search(32, 8) } }),
    reported("resolv.conf"),
  ),
  of("dns-cluster-file-missing", ["24.1"], plain(), reported("resolv.conf")),
  of("dns-host-file-missing", ["24.2", "24.5"], plain({}, { dnsPolicy: "Default" }), reported("resolv.conf")),
];
