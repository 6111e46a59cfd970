/**
 * What containers start with and what they wait for: the real workers in virtual time. Objects that pods reference are
 * created and changed.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Event, Pod, PodSpec } from "../src/api/gen/core-v1.ts";
import { configMaps, coreEvents, pods, secrets, services } from "../src/api/resources.ts";
import { ApiUnreachableError } from "../src/ports/api-error.ts";
import type { ApiObject, Resource } from "../src/ports/api-server.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { kubelet, kubeletWith } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import type { Fault, PortCall } from "./port-calls.ts";
import { World } from "./world.ts";

const SERVER: Behaviour = { onSignal: { SIGTERM: { afterMs: 100, code: 0 } } };
/** Allowance for calls and publishing. */
const SLACK_MS = 500;
const SETTINGS = { metadata: { namespace: "default", name: "settings" } };

function begin(
  options: {
    readonly flags?: readonly string[];
    readonly fault?: (call: PortCall) => Fault | undefined;
    readonly latencyMs?: (call: PortCall) => number;
  } = {},
) {
  const { flags = ["--cluster-dns=198.19.0.10", "--cluster-domain=cluster.local"], fault } = options;
  const creations: number[] = [];
  const plan = (call: PortCall): Fault | undefined => {
    if (call.name === "CreateContainer") creations.push(world.clock.monotonicMs());
    return fault?.(call);
  };
  const world: World = new World({ seed: 3, plan, latencyMs: options.latencyMs ?? (() => 2) });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  const put = (resource: Resource<ApiObject>, object: object) =>
    world.api.writes.create(kindOf(resource), { ...object }, ADMIN);
  put(services, {
    metadata: { namespace: "default", name: "kubernetes" },
    spec: { clusterIP: "198.19.0.1", ports: [{ name: "https", port: 443 }] },
  });
  node.start(kubeletWith(...flags));
  const plain = plainPods(world);
  const find = () => plain.find("a");
  const records = () => [...node.runtime.containers.values()];
  return {
    world,
    node,
    put,
    find,
    creations,
    records,
    create: (own: Partial<Container>, spec: Partial<PodSpec> = {}, behaviour = SERVER, name = "a") =>
      plain.create(
        name,
        { ...own, command: [...scripted(behaviour), ...(own.command ?? [])] },
        { terminationGracePeriodSeconds: 1, ...spec },
      ),
    waitingOf: () => find()?.status?.containerStatuses?.[0]?.state?.waiting,
    environment: () =>
      new Map(
        (records().at(-1)?.config.environment ?? []).map(({ name, value }) => [name, new TextDecoder().decode(value)]),
      ),
    text: async (path: string) => new TextDecoder().decode(await node.files.port.read(path, 10_000)),
    events: async (): Promise<readonly Event[]> => {
      const { signal } = new AbortController();
      return (await world.until(world.user.list(coreEvents, {}, {}, signal))).items;
    },
  };
}

const hostsOf = (pod: Pod | undefined) => `/var/lib/kubelet/pods/${pod?.metadata?.uid}/etc-hosts`;

test("[24.6] [24.7] [24.8] a container's environment comes from its ConfigMap, its Secret, the Services and the pod's fields", async () => {
  const { world, put, create, find, environment, records } = begin();
  put(configMaps, { ...SETTINGS, data: { HOST: "db" } });
  put(secrets, { metadata: { namespace: "default", name: "hidden" }, data: { key: "cGFzcw==" } });
  await world.advance(5_000);
  create({
    envFrom: [{ configMapRef: { name: "settings" } }],
    env: [
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "hidden", key: "key" } } },
      { name: "IP", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.podIP" } } },
      { name: "HOST_IP", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.hostIP" } } },
      { name: "CPUS", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
      { name: "URL", value: "$(HOST):$(KUBERNETES_SERVICE_PORT_HTTPS)" },
    ],
    args: ["$(URL)", "$$(URL)", "$(NONE)"],
  });
  await world.advance(SLACK_MS);
  const pod = find();
  assert.equal(pod?.status?.phase, "Running");
  const made = environment();
  const node = world.api.store.get(kindOf({ ...pods, kind: "Node", plural: "nodes", namespaced: false }), "/n1");
  const { allocatable, addresses } = (
    node as unknown as { status: { allocatable: Record<string, string>; addresses: { address: string }[] } }
  ).status;
  assert.deepEqual(Object.fromEntries([...made].slice(0, 7)), {
    HOST: "db",
    PASSWORD: "pass",
    IP: pod?.status?.podIP,
    HOST_IP: addresses[0]?.address,
    CPUS: allocatable["cpu"],
    URL: "db:443",
    KUBERNETES_SERVICE_HOST: "198.19.0.1",
  });
  assert.deepEqual(records()[0]?.config.args, ["db:443", "$(URL)", "$(NONE)"]);
});

test("[24.7] a missing ConfigMap sets CreateContainerConfigError, and the container starts at once when it is created", async () => {
  const { world, put, create, find, waitingOf, environment, events } = begin();
  create({ envFrom: [{ configMapRef: { name: "settings" } }] });
  await world.advance(20_000);
  assert.deepEqual(waitingOf(), { reason: "CreateContainerConfigError", message: 'configmap "settings" not found' });
  assert.equal(find()?.status?.phase, "Pending");
  const failed = (await events()).filter(({ reason }) => reason === "Failed");
  assert.equal(failed[0]?.message, 'Error: configmap "settings" not found');
  put(configMaps, { ...SETTINGS, data: { A: "1" } });
  await world.advance(SLACK_MS);
  assert.equal(find()?.status?.phase, "Running");
  assert.equal(environment().get("A"), "1");
});

test("[24.7] a container waits for a missing ConfigMap key, and a later change of the ConfigMap restarts nothing", async () => {
  const { world, put, create, find, waitingOf, creations } = begin();
  put(configMaps, { ...SETTINGS, data: { A: "1" } });
  create({ env: [{ name: "B", valueFrom: { configMapKeyRef: { name: "settings", key: "B" } } }] });
  await world.advance(5_000);
  assert.equal(waitingOf()?.message, "couldn't find key B in ConfigMap default/settings");
  const set = (data: Readonly<Record<string, string>>) =>
    world.api.writes.patch(kindOf(configMaps), SETTINGS.metadata, { kind: "merge", body: { data } }, undefined, ADMIN);
  set({ B: "2" });
  await world.advance(SLACK_MS);
  assert.equal(find()?.status?.phase, "Running");
  assert.equal(creations.length, 1);
  set({ B: "3" });
  await world.advance(120_000);
  assert.equal(creations.length, 1, "a container that runs keeps the environment it has");
});

test("[24.6] waits for the Services to sync before starting containers of API pods, then starts them at once", async () => {
  let away = true;
  const { world, create, find, waitingOf, environment } = begin({
    fault: ({ name, target }) =>
      away && name === "WATCH" && target.startsWith("services")
        ? { kind: "fail", effect: "none", error: new ApiUnreachableError("WATCH services", "no", false) }
        : undefined,
  });
  create({});
  await world.advance(30_000);
  assert.deepEqual(waitingOf(), {
    reason: "CreateContainerConfigError",
    message: "services have not yet been read at least once, cannot construct envvars",
  });
  away = false;
  while (environment().size === 0 && world.clock.monotonicMs() < 120_000) await world.advance(100);
  assert.equal(environment().get("KUBERNETES_SERVICE_HOST"), "198.19.0.1");
  await world.advance(SLACK_MS);
  assert.equal(find()?.status?.phase, "Running");
});

test("[24.4] [27.1.14] the hosts file is mounted, names the pod, and is restored at the next container start", async () => {
  const { world, node, create, find, text, records } = begin();
  const crashing: Behaviour = { exit: { afterMs: 3_000, code: 1 }, ...SERVER };
  const hostAliases = [{ ip: "198.51.100.1", hostnames: ["one", "two"] }];
  create({}, { hostname: "web", subdomain: "sub", hostAliases }, crashing);
  await world.advance(2_000);
  const path = hostsOf(find());
  const wanted = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
${find()?.status?.podIP}\tweb.sub.default.svc.cluster.local\tweb

# Entries added by HostAliases.
198.51.100.1\tone\ttwo
`;
  assert.equal(await text(path), wanted);
  assert.equal((await node.files.port.facts(path))?.mode, 0o644);
  const mounts = records()[0]?.config.mounts ?? [];
  assert.deepEqual(mounts[0], { hostPath: path, containerPath: "/etc/hosts", selinuxRelabel: false });
  const file = node.files.disk.find(path);
  await node.files.port.overwrite(path, new TextEncoder().encode("changed by a container"), 0o600);
  await world.advance(4_000);
  assert.ok(
    records().some(({ config }) => config.metadata.attempt === 1),
    "it was started again",
  );
  assert.equal(await text(path), wanted);
  assert.equal(node.files.disk.find(path), file, "the same file: containers that run have it mounted");
});

test("[24.4] a hostNetwork pod gets the node's hosts file, even when that is a symlink", async () => {
  const { world, node, create, find, text } = begin();
  await node.writeFile("/run/hosts", "192.0.2.7 host\n");
  await node.files.port.removeFile("/etc/hosts");
  await node.files.port.link("/run/hosts", "/etc/hosts");
  create({}, { hostNetwork: true });
  await world.advance(10_000);
  assert.equal(find()?.status?.phase, "Running");
  assert.equal(await text(hostsOf(find())), "# Kubernetes-managed hosts file (host network).\n192.0.2.7 host\n");
});

test("[24.1] [24.3] the sandbox gets the cluster's resolver, and the pod gets a DNSConfigForming event for omitted nameservers", async () => {
  const fourServers = ["203.0.113.1", "203.0.113.2", "203.0.113.3"];
  const { world, node, create, events } = begin();
  create({}, { dnsConfig: { nameservers: fourServers } });
  await world.advance(10_000);
  const [sandbox] = [...node.runtime.sandboxes.values()];
  assert.deepEqual(sandbox?.config.dns, {
    servers: ["198.19.0.10", "203.0.113.1", "203.0.113.2"],
    searches: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"],
    options: ["ndots:5"],
  });
  const reported = (await events()).filter(({ reason }) => reason === "DNSConfigForming");
  assert.deepEqual(
    reported.map(({ involvedObject, type }) => [involvedObject.kind, type]),
    [["Pod", "Warning"]],
  );
});

test("[24.1] [24.2] without a cluster or node resolver DNS is 127.0.0.1, and pod and node get a MissingClusterDNS event", async () => {
  const { world, node, create, events } = begin({ flags: [] });
  create({});
  await world.advance(10_000);
  const [sandbox] = [...node.runtime.sandboxes.values()];
  assert.deepEqual(sandbox?.config.dns, { servers: ["127.0.0.1"], searches: ["."], options: [] });
  const reported = (await events()).filter(({ reason }) => reason === "MissingClusterDNS");
  assert.deepEqual(
    reported.map(({ involvedObject }) => involvedObject.kind).toSorted((a = "", b = "") => (a < b ? -1 : 1)),
    ["Node", "Pod"],
  );
});

test("[24.2] reads the node's resolv.conf through a symlink and limits it to 32 search domains", async () => {
  const many = Array.from({ length: 33 }, (_, index) => `d${index}`).join(" ");
  const world = begin({ flags: ["--resolv-conf=/etc/resolv.conf", "--cluster-dns=198.19.0.10"] });
  await world.node.files.port.removeFile("/etc/resolv.conf");
  await world.node.writeFile("/run/resolve/stub.conf", `nameserver 192.0.2.53\nsearch ${many}\noptions edns0\n`);
  await world.node.files.port.link("/run/resolve/stub.conf", "/etc/resolv.conf");
  world.create({}, { dnsPolicy: "Default", dnsConfig: { options: [{ name: "ndots", value: "2" }] } });
  await world.world.advance(10_000);
  const [sandbox] = [...world.node.runtime.sandboxes.values()];
  assert.deepEqual([sandbox?.config.dns?.servers, sandbox?.config.dns?.searches.length], [["192.0.2.53"], 32]);
  assert.deepEqual(sandbox?.config.dns?.options, ["edns0", "ndots:2"]);
});

test("[13.1] the sandbox starts while volumes are still set up, and does not start when a volume fails", async () => {
  const latencyMs = ({ name }: PortCall) => (name === "mountMemory" ? 1_000 : 2);
  const { world, node, create, find, put, records } = begin({ latencyMs });
  put(secrets, { metadata: { namespace: "default", name: "key" }, data: { key: "a2V5" } });
  const written = { name: "written", secret: { secretName: "key" } };
  const refused = { name: "refused", hostPath: { path: "/absent", type: "Directory" } };
  const mounts = (...names: readonly string[]) => ({
    volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })),
  });
  create(mounts("written", "refused"), { volumes: [written, refused] });
  await world.advance(10_000);
  assert.equal(find()?.status?.phase, "Pending");
  assert.equal(node.runtime.sandboxes.size, 0);
  create(mounts("written"), { volumes: [written] }, SERVER, "b");
  await world.advance(1_000);
  assert.deepEqual([node.runtime.sandboxes.size, records().length], [1, 0]);
  await world.advance(2_000);
  assert.equal(records().length, 1);
});

test("[13.1] volumes missing for 123 s are reported in one FailedMount event, and again every 123 s", async () => {
  const { world, put, create, find, events } = begin();
  put(configMaps, { ...SETTINGS, data: { word: "there" } });
  await world.advance(5_000);
  const volumes = [
    { name: "fine", configMap: { name: "settings" } },
    { name: "absent", configMap: { name: "absent" } },
    { name: "hidden", secret: { secretName: "absent" } },
  ];
  create({ volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/v/${name}` })) }, { volumes });
  const message =
    "Unable to attach or mount volumes: unmounted volumes=[absent hidden], unattached volumes=[], " +
    "failed to process volumes=[]: timed out waiting for the condition";
  const reports = async () =>
    (await events())
      .filter((event) => event.message === message)
      .map(({ type, reason, count }) => [type, reason, count]);
  await world.advance(122_000);
  assert.deepEqual(await reports(), []);
  await world.advance(2_000);
  assert.deepEqual(await reports(), [["Warning", "FailedMount", 1]]);
  await world.advance(123_000);
  assert.deepEqual(await reports(), [["Warning", "FailedMount", 2]]);
  assert.equal(find()?.status?.phase, "Pending");
});

test("[7.2] [13.1] waits for a sandbox that a previous kubelet process was creating, even when volumes become ready meanwhile", async () => {
  const latencyMs = ({ name }: PortCall) => (name === "mountMemory" ? 400 : 2);
  const { world, node, create, put, records } = begin({ latencyMs });
  node.runtime.knobs.durations = { runSandboxMs: 800, createContainerMs: 0, startContainerMs: 0 };
  put(secrets, { metadata: { namespace: "default", name: "key" }, data: { key: "a2V5" } });
  await world.advance(2_000);
  create(
    { volumeMounts: [{ name: "written", mountPath: "/written" }] },
    { volumes: [{ name: "written", secret: { secretName: "key" } }] },
  );
  await world.advance(300);
  node.crash();
  assert.equal(node.runtime.sandboxes.size, 0, "it is in the making");
  node.start(kubelet);
  let most = 0;
  // A reserved sandbox name that nothing releases is given up after ten seconds.
  for (let step = 0; step < 150; step += 1) {
    await world.advance(100);
    most = Math.max(most, [...node.runtime.sandboxes.values()].filter(({ state }) => state === "ready").length);
  }
  assert.deepEqual([most, records().length], [1, 1]);
});
