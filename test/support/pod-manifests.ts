/**
 * Manifests on which Deckhand's reading of a pod is compared with the API server's: valid ones for their defaults,
 * invalid ones for the rejection.
 */

type Json = Readonly<Record<string, unknown>>;

const app = (fields: Json = {}): Json => ({ name: "app", image: "registry.k8s.io/pause:3.10", ...fields });
const spec = (fields: Json): Json => ({ automountServiceAccountToken: false, containers: [app()], ...fields });
const container = (fields: Json): Json => spec({ containers: [app(fields)] });
const volume = (source: Json): Json =>
  spec({ volumes: [{ name: "v", ...source }], containers: [app({ volumeMounts: [{ name: "v", mountPath: "/v" }] })] });
const image = (reference: string): Json => container({ image: reference });

const pod = (podSpec: Json, metadata: Json = {}): Json => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "default", ...metadata },
  spec: podSpec,
});

const digest = `sha256:${"ab".repeat(32)}`;

const goodSpecs: Readonly<Record<string, Json>> = {
  "nothing but a container": spec({}),
  "an image without a tag": image("busybox"),
  "an image tagged latest": image("registry.example:5000/a/b:latest"),
  "an image by digest": image(`busybox@${digest}`),
  "an image tagged latest by digest": image(`busybox:latest@${digest}`),
  "an image whose host has a port": image("registry.example:5000/busybox"),
  "an image name in capitals": image("Busybox"),
  "a pull policy of its own": container({ imagePullPolicy: "Never" }),
  "ports without a protocol": container({ ports: [{ containerPort: 80 }, { containerPort: 53, protocol: "UDP" }] }),
  "ports on the node's network": spec({
    hostNetwork: true,
    containers: [app({ ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 81 }] })],
    initContainers: [{ ...app(), name: "init", ports: [{ containerPort: 82 }] }],
  }),
  "limits without requests": container({ resources: { limits: { cpu: "1", memory: "1024Mi" } } }),
  "limits and some requests": container({
    resources: { limits: { cpu: "2000m", memory: "1Gi", "ephemeral-storage": "1G" }, requests: { cpu: "0.5" } },
  }),
  "requests finer than thousandths": container({ resources: { requests: { cpu: "0.0001", memory: "128974848" } } }),
  "numbers as quantities": container({ resources: { limits: { cpu: 2, memory: 134217728 }, requests: { cpu: 0.5 } } }),
  "init containers with limits": spec({
    initContainers: [{ ...app(), name: "init", resources: { limits: { memory: "64Mi" } } }],
  }),
  "resources of the pod, limits only": spec({ resources: { limits: { cpu: "2", memory: "1Gi" } } }),
  "resources of the pod beside requests of containers": spec({
    resources: { limits: { cpu: "4", memory: "4Gi" } },
    containers: [
      app({ resources: { requests: { cpu: "1", memory: "1Gi" } } }),
      { ...app(), name: "b", resources: { requests: { cpu: "500m" } } },
    ],
    initContainers: [
      { ...app(), name: "side", restartPolicy: "Always", resources: { requests: { memory: "100Mi" } } },
      { ...app(), name: "init", resources: { requests: { memory: "3Gi" } } },
    ],
  }),
  "huge pages of containers and resources of the pod": spec({
    resources: { requests: { cpu: "1" } },
    containers: [app({ resources: { limits: { "hugepages-2Mi": "4Mi", memory: "64Mi" } } })],
  }),
  "a probe by HTTP": container({ livenessProbe: { httpGet: { port: 80 } } }),
  "three probes": container({
    livenessProbe: { exec: { command: ["true"] }, periodSeconds: 3 },
    readinessProbe: { tcpSocket: { port: "web" }, failureThreshold: 1 },
    startupProbe: { grpc: { port: 9000 }, timeoutSeconds: 5 },
    ports: [{ name: "web", containerPort: 8080 }],
  }),
  "hooks by HTTP": container({
    lifecycle: { postStart: { httpGet: { port: 8080 } }, preStop: { sleep: { seconds: 3 } } },
  }),
  "probes of a sidecar": spec({
    initContainers: [
      { ...app(), name: "side", restartPolicy: "Always", startupProbe: { httpGet: { path: "x", port: 1 } } },
    ],
  }),
  "fields as variables": container({
    env: [
      { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "B", value: "" },
      { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
    ],
  }),
  "resources as files": volume({
    downwardAPI: { items: [{ path: "l", resourceFieldRef: { containerName: "app", resource: "limits.cpu" } }] },
  }),
  "an empty volume without a kind": volume({}),
  "a directory of the node": volume({ hostPath: { path: "/tmp" } }),
  "a directory of the node with a type": volume({ hostPath: { path: "/tmp", type: "DirectoryOrCreate" } }),
  "a volume in memory": volume({ emptyDir: { medium: "Memory", sizeLimit: "1024Ki" } }),
  "a secret": volume({ secret: { secretName: "s" } }),
  "a config map with a mode": volume({ configMap: { name: "c", defaultMode: 0o400 } }),
  "the downward API": volume({ downwardAPI: { items: [{ path: "l", fieldRef: { fieldPath: "metadata.labels" } }] } }),
  "projections of all kinds": volume({
    projected: {
      sources: [
        { serviceAccountToken: { path: "token" } },
        { downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } },
        { configMap: { name: "c" } },
        { secret: { name: "s" } },
      ],
    },
  }),
  "an image as a volume": volume({ image: { reference: "busybox" } }),
  "a variable from a file": spec({
    volumes: [{ name: "v", emptyDir: {} }],
    containers: [app({ env: [{ name: "A", valueFrom: { fileKeyRef: { volumeName: "v", path: "f", key: "k" } } }] })],
  }),
  "a claim that comes with the pod": volume({
    ephemeral: {
      volumeClaimTemplate: {
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1024Mi" } } },
      },
    },
  }),
  "disks of the network": spec({
    volumes: [
      { name: "a", iscsi: { targetPortal: "10.0.0.1:3260", iqn: "iqn.2001-04.com.example:s", lun: 0 } },
      { name: "b", rbd: { monitors: ["m:1"], image: "i" } },
      { name: "c", azureDisk: { diskName: "d", diskURI: "https://blob/d.vhd" } },
      { name: "d", scaleIO: { gateway: "g", system: "s", secretRef: { name: "x" }, volumeName: "v" } },
    ],
  }),
  "everything of the pod set": spec({
    restartPolicy: "Never",
    dnsPolicy: "Default",
    terminationGracePeriodSeconds: 0,
    schedulerName: "other",
    enableServiceLinks: false,
    securityContext: { runAsUser: 1000 },
    hostname: "h",
    subdomain: "s",
  }),
  "a negative grace period": spec({ terminationGracePeriodSeconds: -5 }),
  "an account by its old name": spec({ serviceAccount: "default" }),
  "the node's namespaces": spec({ hostPID: true, hostIPC: true, shareProcessNamespace: false, hostUsers: true }),
  "empty values": spec({ dnsPolicy: "", restartPolicy: "", nodeSelector: {}, tolerations: [], hostNetwork: false }),
  "unknown fields and nulls": spec({ nonsense: { a: 1 }, volumes: null, containers: [app({ env: null, other: "x" })] }),
};

export const goodManifests: readonly (readonly [string, Json])[] = Object.entries(goodSpecs).map(([name, podSpec]) => [
  name,
  pod(podSpec),
]);

const named = (name: string, fields: Json = {}): Json => ({ ...app(), name, ...fields });
const probe = (kind: string, fields: Json): Json => container({ [kind]: { exec: { command: ["true"] }, ...fields } });

const badSpecs: Readonly<Record<string, Json>> = {
  "no containers": spec({ containers: [] }),
  "a container without a name": spec({ containers: [{ image: "a" }] }),
  "a container without an image": spec({ containers: [{ name: "a" }] }),
  "a container with a name in capitals": spec({ containers: [named("App")] }),
  "a container with dots in its name": spec({ containers: [named("a.b")] }),
  "a container with a long name": spec({ containers: [named("a".repeat(64))] }),
  "two containers of one name": spec({ containers: [named("a"), named("a")] }),
  "an init container named as a container": spec({ initContainers: [named("app")] }),
  "an image with a space before it": container({ image: " busybox" }),
  "an unknown pull policy": container({ imagePullPolicy: "Sometimes" }),
  "an unknown policy of messages": container({ terminationMessagePolicy: "Never" }),
  "an unknown restart policy": spec({ restartPolicy: "Sometimes" }),
  "an unknown DNS policy": spec({ dnsPolicy: "Mine" }),
  "DNS by hand without servers": spec({ dnsPolicy: "None" }),
  "a port of 0": container({ ports: [{ containerPort: 0 }] }),
  "a port of 70000": container({ ports: [{ containerPort: 70_000 }] }),
  "a host port below 0": container({ ports: [{ containerPort: 1, hostPort: -1 }] }),
  "an unknown protocol": container({ ports: [{ containerPort: 1, protocol: "ICMP" }] }),
  "two ports of one name": container({
    ports: [
      { name: "a", containerPort: 1 },
      { name: "a", containerPort: 2 },
    ],
  }),
  "a port with a bad name": container({ ports: [{ name: "-A-way-too-long-name-", containerPort: 1 }] }),
  "two ports of one host port": spec({
    containers: [
      app({ ports: [{ containerPort: 1, hostPort: 80 }] }),
      named("b", { ports: [{ containerPort: 2, hostPort: 80 }] }),
    ],
  }),
  "another host port on the node's network": spec({
    hostNetwork: true,
    containers: [app({ ports: [{ containerPort: 1, hostPort: 2 }] })],
  }),
  "a variable without a name": container({ env: [{ value: "x" }] }),
  "a variable with = in its name": container({ env: [{ name: "a=b", value: "x" }] }),
  "a variable from nowhere": container({ env: [{ name: "a", valueFrom: {} }] }),
  "a variable with a value from two places": container({
    env: [{ name: "a", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
  }),
  "a variable of an unknown field": container({
    env: [{ name: "a", valueFrom: { fieldRef: { fieldPath: "spec.nothing" } } }],
  }),
  "a mount of no volume": container({ volumeMounts: [{ name: "v", mountPath: "/v" }] }),
  "two mounts at one path": spec({
    volumes: [{ name: "v", emptyDir: {} }],
    containers: [
      app({
        volumeMounts: [
          { name: "v", mountPath: "/v" },
          { name: "v", mountPath: "/v" },
        ],
      }),
    ],
  }),
  "a mount that leaves its volume": spec({
    volumes: [{ name: "v", emptyDir: {} }],
    containers: [app({ volumeMounts: [{ name: "v", mountPath: "/v", subPath: "../x" }] })],
  }),
  "a mount shared both ways": spec({
    volumes: [{ name: "v", emptyDir: {} }],
    containers: [app({ volumeMounts: [{ name: "v", mountPath: "/v", mountPropagation: "Bidirectional" }] })],
  }),
  "a volume without a name": spec({ volumes: [{ emptyDir: {} }] }),
  "two volumes of one name": spec({
    volumes: [
      { name: "v", emptyDir: {} },
      { name: "v", emptyDir: {} },
    ],
  }),
  "a volume of two kinds": volume({ emptyDir: {}, hostPath: { path: "/" } }),
  "a host path with ..": volume({ hostPath: { path: "/a/../b" } }),
  "a host path of an unknown type": volume({ hostPath: { path: "/a", type: "Pipe" } }),
  "a host path without a path": volume({ hostPath: {} }),
  "a probe without a handler": container({ livenessProbe: { periodSeconds: 1 } }),
  "a probe with two handlers": probe("livenessProbe", { tcpSocket: { port: 1 } }),
  "a probe with an empty command": container({ readinessProbe: { exec: { command: [] } } }),
  "a liveness probe that wants two successes": probe("livenessProbe", { successThreshold: 2 }),
  "a readiness probe with a grace period": probe("readinessProbe", { terminationGracePeriodSeconds: 3 }),
  "a startup probe with a negative period": probe("startupProbe", { periodSeconds: -1 }),
  "a probe at a port by a bad name": container({ livenessProbe: { tcpSocket: { port: "WEB" } } }),
  "a probe by an unknown scheme": container({ livenessProbe: { httpGet: { port: 1, scheme: "FTP" } } }),
  "a hook that sleeps longer than the grace": container({ lifecycle: { preStop: { sleep: { seconds: 99 } } } }),
  "a probe of an init container": spec({
    initContainers: [named("init", { livenessProbe: { exec: { command: ["true"] } } })],
  }),
  "a request above its limit": container({ resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } }),
  "a negative request": container({ resources: { requests: { memory: "-1Gi" } } }),
  "an unknown resource": container({ resources: { requests: { gpu: "1" } } }),
  "half a device": container({ resources: { limits: { "example.com/gpu": "500m" } } }),
  "huge pages alone": container({ resources: { limits: { "hugepages-2Mi": "2Mi" } } }),
  "an active deadline of 0": spec({ activeDeadlineSeconds: 0 }),
  "a host name with dots": spec({ hostname: "a.b" }),
  "a toleration of all keys that compares": spec({ tolerations: [{ operator: "Equal", value: "x" }] }),
  "a toleration with seconds and no effect": spec({
    tolerations: [{ key: "a", operator: "Exists", tolerationSeconds: 3 }],
  }),
  "a toleration by an unknown operator": spec({ tolerations: [{ key: "a", operator: "Like" }] }),
  "the node's processes shared with itself": spec({ hostPID: true, shareProcessNamespace: true }),
  "its own users on the node's network": spec({ hostUsers: false, hostNetwork: true }),
  "an alias that is no address": spec({ hostAliases: [{ ip: "1.2.3", hostnames: ["a"] }] }),
  "debug containers from the start": spec({ ephemeralContainers: [{ name: "d", image: "a" }] }),
};

const badMetadata: Readonly<Record<string, Json>> = {
  "a name in capitals": { name: "Pod" },
  "a name with an underscore": { name: "a_b" },
  "a label with a bad key": { labels: { "a/b/c": "x" } },
  "a label with a bad value": { labels: { a: "-x-" } },
  "an annotation with a bad key": { annotations: { "-a": "x" } },
};

export const badManifests: readonly (readonly [string, Json])[] = [
  ...Object.entries(badSpecs).map(([name, podSpec]) => [name, pod(podSpec)] as const),
  ...Object.entries(badMetadata).map(([name, metadata]) => [name, pod(spec({}), metadata)] as const),
];
