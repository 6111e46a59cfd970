/**
 * Tests how the CRI client handles responses that a correct runtime does not send: impossible values, bytes that are no
 * message, secrets in error messages. Also tests that it reads every field of the stats.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { isRuntimeError } from "../../src/ports/runtime-error.ts";
import { ContainerState, MetricType, PodSandboxState } from "../../src/wire/cri/gen/api_pb.js";
import { failure, patient } from "../contract/runtime-world.ts";
import { container, containerStats, image, parts, sandbox, sandboxStats, served, status } from "./cri-messages.ts";

test("invalid sandboxes are left out of the list and reported", async (t) => {
  const { runtime, malformed } = await served(t, {
    listPodSandbox: () => ({
      items: [
        sandbox("good"),
        sandbox(""),
        { id: "nameless", createdAt: 1n },
        sandbox("cut short", { createdAt: -6_795_364_578_871_345_152n }),
        sandbox("odd", { state: 7 as never }),
        sandbox("good", { state: PodSandboxState.SANDBOX_NOTREADY }),
      ],
    }),
  });
  const found = await runtime.listSandboxes({}, patient);
  assert.deepEqual(
    found.map(({ id, state, createdWallNs }) => [id, state, createdWallNs]),
    [
      ["good", "ready", 1n],
      ["cut short", "ready", 0n],
    ],
  );
  assert.deepEqual(malformed, [
    "ListPodSandbox: a sandbox's id is empty",
    "ListPodSandbox: metadata of sandbox nameless is missing",
    "ListPodSandbox: state of sandbox odd has the unknown value 7",
    "ListPodSandbox: good is listed twice",
  ]);
});

test("invalid containers are left out and reported, but an unrecognized state becomes unknown", async (t) => {
  const { runtime, malformed } = await served(t, {
    listContainers: () => ({
      containers: [
        container("strange", { state: 9 as never }),
        container("unknown", { state: ContainerState.CONTAINER_UNKNOWN }),
        container(""),
        container("homeless", { podSandboxId: "" }),
        { id: "nameless", podSandboxId: "s", image: { image: "i" } },
        { id: "imageless", podSandboxId: "s", metadata: { name: "n" } },
        container("strange"),
      ],
    }),
  });
  const found = await runtime.listContainers({}, patient);
  assert.deepEqual(
    found.map(({ id, state }) => [id, state]),
    [
      ["strange", "unknown"],
      ["unknown", "unknown"],
    ],
  );
  assert.equal(malformed.length, 5);
});

test("invalid images, stats and metrics are left out and reported", async (t) => {
  const client = await served(t, {
    listImages: () => ({ images: [image(""), image("good"), image("good")] }),
    listContainerStats: () => ({ stats: [{}, containerStats(""), containerStats("good")] }),
    listPodSandboxStats: () => ({
      stats: [sandboxStats(""), sandboxStats("good")],
    }),
    listPodSandboxMetrics: () => ({
      podMetrics: [
        { podSandboxId: "" },
        { podSandboxId: "valueless", metrics: [{ name: "m" }] },
        { podSandboxId: "strange", metrics: [{ name: "m", value: {}, metricType: 5 as never }] },
        {
          podSandboxId: "good",
          metrics: [{ name: "m", value: { value: 2n ** 64n - 1n }, metricType: MetricType.GAUGE }],
        },
      ],
    }),
  });
  const { runtime, images, malformed } = client;
  assert.deepEqual(
    (await images.listImages({}, patient)).map(({ id }) => id),
    ["good"],
  );
  assert.deepEqual(
    (await runtime.listContainerStats({}, patient)).map(({ id }) => id),
    ["good"],
  );
  assert.deepEqual(
    (await runtime.listSandboxStats({}, patient)).map(({ id }) => id),
    ["good"],
  );
  const [metrics, ...others] = await runtime.listSandboxMetrics(patient);
  assert.equal(others.length, 0);
  assert.deepEqual(
    metrics?.samples.map(({ kind, value }) => [kind, value]),
    [["gauge", 2n ** 64n - 1n]],
  );
  assert.equal(malformed.length, 8);
});

test("a label named __proto__ does not change any prototype", async (t) => {
  const labels = Object.fromEntries([
    ["__proto__", "x"],
    ["app", "a"],
  ]);
  const { runtime } = await served(t, { listContainers: () => ({ containers: [container("c", { labels })] }) });
  const [found] = await runtime.listContainers({}, patient);
  assert.equal(found?.labels["app"], "a");
  assert.equal(Object.getPrototypeOf(found?.labels), Object.prototype);
  assert.ok(!("x" in {}));
});

test("invalid events are left out and reported, and the stream continues", async (t) => {
  const { runtime, malformed } = await served(t, {
    getContainerEvents: () =>
      parts(
        { containerId: "", createdAt: 1n },
        { containerId: "c", createdAt: 1n, containerEventType: 9 as never },
        { containerId: "c", createdAt: 2n, containerEventType: 2 },
      ),
  });
  const found: unknown[] = [];
  for await (const event of runtime.events(patient)) found.push(event);
  assert.deepEqual(found, [{ containerId: "c", kind: "stopped", wallNs: 2n }]);
  assert.equal(malformed.length, 2);
});

test("times that the runtime never set are undefined", async (t) => {
  const never = -6_795_364_578_871_345_152n;
  const { runtime } = await served(t, {
    containerStatus: () => status({ createdAt: never, startedAt: never, finishedAt: never }),
  });
  const { status: reported } = await runtime.containerStatus("c", { verbose: false }, patient);
  assert.deepEqual(
    [reported.createdWallNs, reported.startedWallNs, reported.finishedWallNs],
    [0n, undefined, undefined],
  );
});

for (const [what, answer] of Object.entries({
  "no status": {},
  "no id": status({ id: "" }),
  "no metadata": { status: { id: "c", image: { image: "i" } } },
  "no image": { status: { id: "c", metadata: { name: "c" } } },
  "a mount of an unknown kind": status({ mounts: [{ containerPath: "/x", propagation: 9 as never }] }),
  "an unknown stop signal": status({ stopSignal: 99 as never }),
  "a figure past 2^53": status({ resources: { linux: { cpuShares: 2n ** 53n } } }),
})) {
  test(`a container status with ${what} fails with dataLoss`, async (t) => {
    const { runtime } = await served(t, { containerStatus: () => answer });
    await assert.rejects(
      runtime.containerStatus("c", { verbose: false }, patient),
      failure("ContainerStatus", "dataLoss"),
    );
  });
}

test("times are exact to the nanosecond, and a start time of zero is absent", async (t) => {
  const { runtime } = await served(t, { containerStatus: () => status({ createdAt: 2n ** 63n - 1n, startedAt: 0n }) });
  const answer = await runtime.containerStatus("c", { verbose: false }, patient);
  assert.equal(answer.status.createdWallNs, 2n ** 63n - 1n);
  assert.ok(!("startedWallNs" in answer.status));
});

test("sandbox status has containers only if the runtime reports the time of reading", async (t) => {
  let timestamp = 5n;
  const { runtime } = await served(t, {
    podSandboxStatus: () => ({
      status: { ...sandbox("s"), network: { ip: "1.2.3.4", additionalIps: [{ ip: "::1" }, { ip: "" }] } },
      containersStatuses: [status().status],
      timestamp,
    }),
  });
  const seen = await runtime.sandboxStatus("s", { verbose: false }, patient);
  assert.deepEqual([seen.readWallNs, seen.containers?.map(({ id }) => id)], [5n, ["c"]]);
  assert.deepEqual(seen.status.ips, ["1.2.3.4", "::1"]);
  timestamp = 0n;
  const blind = await runtime.sandboxStatus("s", { verbose: false }, patient);
  assert.ok(!("containers" in blind) && !("readWallNs" in blind));
});

test("responses without their required fields fail with dataLoss", async (t) => {
  const { runtime, images } = await served(t, {
    version: () => ({ runtimeName: "r" }),
    status: () => ({ status: { conditions: [{ type: "RuntimeReady", status: true }] } }),
    runtimeConfig: () => ({}),
    runPodSandbox: () => ({}),
    podSandboxStatus: () => ({}),
    createContainer: () => ({}),
    exec: () => ({}),
    attach: () => ({}),
    portForward: () => ({}),
    containerStats: () => ({}),
    podSandboxStats: () => ({}),
    listMetricDescriptors: () => ({ descriptors: [{}] }),
    pullImage: () => ({}),
    imageStatus: () => ({ image: {} }),
    imageFsInfo: () => ({ imageFilesystems: [{}] }),
  });
  const io = { stdin: false, stdout: true, stderr: true, tty: false };
  const config = { metadata: { name: "n", namespace: "ns", uid: "u", attempt: 0 } };
  const containerConfig = { metadata: { name: "n", attempt: 0 }, image: { image: "i" } };
  for (const [operation, call] of Object.entries({
    Version: () => runtime.version(patient),
    Status: () => runtime.status({ verbose: false }, patient),
    RuntimeConfig: () => runtime.cgroupDriver(patient),
    RunPodSandbox: () => runtime.runSandbox(config, "", patient),
    PodSandboxStatus: () => runtime.sandboxStatus("s", { verbose: false }, patient),
    CreateContainer: () => runtime.createContainer("s", containerConfig, config, patient),
    Exec: () => runtime.exec("c", ["x"], io, patient),
    Attach: () => runtime.attach("c", io, patient),
    PortForward: () => runtime.portForward("s", [1], patient),
    ContainerStats: () => runtime.containerStats("c", patient),
    PodSandboxStats: () => runtime.sandboxStats("s", patient),
    ListMetricDescriptors: () => runtime.metricDescriptors(patient),
    PullImage: () => images.pullImage({ image: "i" }, {}, patient),
    ImageStatus: () => images.imageStatus({ image: "i" }, patient),
    ImageFsInfo: () => images.imageFilesystems(patient),
  })) {
    await assert.rejects(call, failure(operation, "dataLoss"), operation);
  }
});

test("a response that is not a valid message fails with internal, and the next call is not affected", async (t) => {
  let bytes = Uint8Array.of(0xff, 0xff, 0xff);
  const { runtime } = await served(t, { version: () => bytes, listContainers: () => Uint8Array.of(0x0a, 0x7f, 0x00) });
  await assert.rejects(runtime.version(patient), failure("Version", "internal"));
  await assert.rejects(runtime.listContainers({}, patient), failure("ListContainers", "internal"));
  bytes = new Uint8Array();
  await assert.rejects(runtime.version(patient), failure("Version", "dataLoss"));
});

test("stopping or removing what does not exist succeeds, also when the runtime returns notFound", async (t) => {
  const gone = () => {
    throw { code: 5, details: "gone" };
  };
  const { runtime, images } = await served(t, {
    stopPodSandbox: gone,
    removePodSandbox: gone,
    stopContainer: gone,
    removeContainer: gone,
    removeImage: gone,
    imageStatus: gone,
    startContainer: gone,
  });
  await runtime.stopSandbox("s", patient);
  await runtime.removeSandbox("s", patient);
  await runtime.stopContainer("c", 0, patient);
  await runtime.removeContainer("c", patient);
  await images.removeImage({ image: "i" }, patient);
  assert.equal(await images.imageStatus({ image: "i" }, patient), undefined);
  await assert.rejects(runtime.startContainer("c", patient), failure("StartContainer", "notFound"));
});

test("credentials reach the runtime complete, and are redacted from its error messages", async (t) => {
  const credentials = {
    username: "u",
    password: "pass word",
    auth: "dTppbnNpZGU=",
    serverAddress: "r",
    identityToken: "idt",
    registryToken: "rgt",
  };
  const { images } = await served(t, {
    pullImage: ({ auth }) => {
      const { $typeName: _name, ...sent } = auth ?? assert.fail("no credentials came");
      assert.deepEqual(sent, credentials);
      throw { code: 16, details: `no entry with ${JSON.stringify(sent)} or u:inside or pass%20word` };
    },
  });
  const error: unknown = await images.pullImage({ image: "i" }, { credentials }, patient).catch((e: unknown) => e);
  assert.ok(isRuntimeError(error, "unauthenticated"));
  const shown = inspect(error, { depth: Infinity, showHidden: true }) + JSON.stringify(error);
  assert.match(shown, /no entry with/);
  for (const secret of ["pass word", "pass%20word", "dTppbnNpZGU=", "inside", "idt", "rgt"]) {
    assert.ok(!shown.includes(secret), `${secret} in ${shown}`);
  }
});

test("every field of a sandbox's stats is read", async (t) => {
  const value = (n: bigint) => ({ value: n });
  const psi = { Full: { Total: 1n, Avg10: 0.5, Avg60: 1.5, Avg300: 2.5 }, Some: { Total: 2n } };
  const one = {
    ...containerStats("c"),
    cpu: { timestamp: 1n, usageCoreNanoSeconds: value(2n), usageNanoCores: value(3n), psi },
    memory: {
      timestamp: 4n,
      workingSetBytes: value(5n),
      availableBytes: value(6n),
      usageBytes: value(7n),
      rssBytes: value(8n),
      pageFaults: value(9n),
      majorPageFaults: value(10n),
    },
    swap: { timestamp: 11n, swapAvailableBytes: value(12n), swapUsageBytes: value(13n) },
    io: { timestamp: 14n, psi },
    writableLayer: { timestamp: 15n, fsId: { mountpoint: "/m" }, usedBytes: value(16n), inodesUsed: value(17n) },
  };
  const eth0 = { name: "eth0", rxBytes: value(20n), rxErrors: value(21n), txBytes: value(22n), txErrors: value(23n) };
  const network = { timestamp: 19n, defaultInterface: eth0, interfaces: [eth0] };
  const linux = {
    cpu: one.cpu,
    memory: one.memory,
    io: one.io,
    network,
    process: { processCount: value(18n) },
    containers: [one],
  };
  const { runtime } = await served(t, { podSandboxStats: () => ({ stats: { ...sandboxStats("s"), linux } }) });

  const pressure = {
    full: { totalNs: 1n, avg10: 0.5, avg60: 1.5, avg300: 2.5 },
    some: { totalNs: 2n, avg10: 0, avg60: 0, avg300: 0 },
  };
  const cpu = { wallNs: 1n, usageCoreNs: 2n, usageNanoCores: 3n, pressure };
  const memory = {
    wallNs: 4n,
    workingSetBytes: 5n,
    availableBytes: 6n,
    usageBytes: 7n,
    rssBytes: 8n,
    pageFaults: 9n,
    majorPageFaults: 10n,
  };
  const io = { wallNs: 14n, pressure };
  const read = { name: "eth0", rxBytes: 20n, rxErrors: 21n, txBytes: 22n, txErrors: 23n };
  const names = { labels: {}, annotations: {} };
  assert.deepEqual(await runtime.sandboxStats("s", patient), {
    id: "s",
    metadata: { name: "s", namespace: "ns", uid: "u", attempt: 0 },
    ...names,
    cpu,
    memory,
    io,
    network: { wallNs: 19n, defaultInterface: read, interfaces: [read] },
    processCount: 18n,
    containers: [
      {
        id: "c",
        metadata: { name: "c", attempt: 0 },
        ...names,
        cpu,
        memory,
        swap: { wallNs: 11n, availableBytes: 12n, usageBytes: 13n },
        io,
        writableLayer: { wallNs: 15n, mountpoint: "/m", usedBytes: 16n, inodesUsed: 17n },
      },
    ],
  });
});

test("[27.3.10] a response of almost 16 MB is read, and one above fails with resourceExhausted", async (t) => {
  let bytes = 16 * 2 ** 20 - 64;
  const { runtime } = await served(t, {
    version: () => ({ runtimeName: "x".repeat(bytes), runtimeVersion: "2", runtimeApiVersion: "v1", version: "0.1.0" }),
  });
  assert.equal((await runtime.version(patient)).name.length, bytes);
  bytes += 64;
  await assert.rejects(runtime.version(patient), failure("Version", "resourceExhausted"));
});
