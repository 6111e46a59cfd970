/**
 * What users type, on a Deckhand node: each kind of workload with its volumes, its token and its environment, from
 * kubectl to the files on the node.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { startClusterDns } from "../cluster/cluster-dns.ts";
import { AGNHOST_IMAGE, BUSYBOX_IMAGE } from "../cluster/images.ts";
import { SERVICE_DNS } from "../cluster/layout.ts";
import { waitUntil } from "../cluster/wait.ts";
import { STAY } from "../support/cluster-pods.ts";

let cluster: Cluster;
let node: ClusterNode;
let directory: string;

before(async () => {
  cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand" }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  directory = await mkdtemp(join(cluster.layout.directory, "manifests-"));
});

after(() => cluster.down());

/** Applies objects as a user does: with a file and `kubectl apply`. */
async function apply(...objects: readonly object[]): Promise<void> {
  const file = join(directory, `${Math.random().toString(36).slice(2)}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  await cluster.kubectl("apply", "-f", file);
}

const field = async (what: string, path: string) =>
  (await cluster.kubectl("get", ...what.split(" "), "-o", `jsonpath={${path}}`)).trim();
const PODS = "/var/lib/kubelet/pods";
const podDirectory = async (pod: string) => node.inside(`${PODS}/${await field(`pod ${pod}`, ".metadata.uid")}`);

/** The output of a pod's container, by default the one with the pod's name, from the runtime's log file. */
async function logOf(pod: string, container = pod): Promise<string> {
  const uid = await field(`pod ${pod}`, ".metadata.uid");
  const lines = (
    await readFile(node.inside(`/var/log/pods/default_${pod}_${uid}/${container}/0.log`), "utf8").catch(() => "")
  ).split("\n");
  return lines.map((line) => line.split(" ").slice(3).join(" ")).join("\n");
}

const SLEEP = ["sh", "-c", STAY];

void suite("ordinary pods", () => {
  test("[13.10][13.11][7.21] kubectl run: the pod has its token, the cluster's certificate and its namespace, which are removed with it", async () => {
    await cluster.kubectl(
      "run",
      "web",
      `--image=${BUSYBOX_IMAGE}`,
      "--env=GREETING=hello",
      "--command",
      "--",
      "sh",
      "-c",
      "echo $(GREETING) $GREETING; sleep 1000",
    );
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s");
    const own = await podDirectory("web");
    const [volume = ""] = await readdir(join(own, "volumes", "kubernetes.io~projected"));
    const files = join(own, "volumes", "kubernetes.io~projected", volume);
    assert.deepEqual((await readdir(files)).filter((name) => !name.startsWith("..")).sort(), [
      "ca.crt",
      "namespace",
      "token",
    ]);
    assert.equal(await readFile(join(files, "namespace"), "utf8"), "default");
    const claims = JSON.parse(
      Buffer.from((await readFile(join(files, "token"), "utf8")).split(".")[1] ?? "", "base64url").toString(),
    ) as {
      readonly exp: number;
      readonly iat: number;
      readonly "kubernetes.io": { readonly pod: { readonly name: string } };
    };
    assert.equal(claims["kubernetes.io"].pod.name, "web");
    await waitUntil("its words", 10_000, async () => (await logOf("web")).startsWith("hello hello"));
    await cluster.kubectl("delete", "pod", "web", "--grace-period=1", "--timeout=30s");
    const uid = own.split("/").at(-1) ?? "";
    await waitUntil("its directory to be gone", 60_000, async () => !(await readdir(node.inside(PODS))).includes(uid));
    const table = await node.run("cat", "/proc/self/mountinfo");
    assert.ok(table.stdout.includes("/var/lib") && !table.stdout.includes(uid), "no mount of it is left");
  });

  test("[13.2] force-deleted pod is unmounted, also when the agent was down during the deletion", async () => {
    const agent = cluster.component(`kubelet@${node.name}`);
    for (const name of ["forced", "forced-alone"]) {
      const container = { name: "main", image: BUSYBOX_IMAGE, command: SLEEP };
      const spec = {
        volumes: [{ name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }],
        containers: [{ ...container, volumeMounts: [{ name: "memory", mountPath: "/memory" }] }],
      };
      await apply({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
      await cluster.kubectl("wait", "--for=condition=Ready", `pod/${name}`, "--timeout=60s");
      const uid = await field(`pod ${name}`, ".metadata.uid");
      const isOfPod = (line: string) => line.includes(`/pods/${uid}/volumes/`);
      const mounts = async () => (await node.run("cat", "/proc/mounts")).stdout.split("\n").filter(isOfPod);
      const isOf = (volume: string) => (line: string) => line.includes(`/volumes/kubernetes.io~${volume}`);
      const mounted = await mounts();
      for (const volume of ["empty-dir/memory", "projected/"])
        assert.ok(mounted.some(isOf(volume)), mounted.join("\n"));
      if (name === "forced-alone") await agent.kill();
      await cluster.kubectl("delete", "pod", name, "--force", "--grace-period=0");
      if (name === "forced-alone") await agent.restart();
      await waitUntil("the mounts to go", 60_000, async () => (await mounts()).length === 0);
      await waitUntil("the directory to go", 60_000, async () => {
        return !(await readdir(node.inside(PODS))).includes(uid);
      });
    }
  });

  test("[13.11][24.6] from inside a pod the API server accepts the pod's token, at the Service in the pod's environment", async () => {
    await apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "client" },
      spec: {
        containers: [
          {
            name: "client",
            image: AGNHOST_IMAGE,
            args: ["inclusterclient", "--poll-interval=1"],
          },
        ],
      },
    });
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/client", "--timeout=60s");
    // The client logs nothing for a successful answer; with the third call the first two have had theirs.
    const calls = async () => (await logOf("client")).split("\n").filter((line) => line.includes("authz_header="));
    await waitUntil("three calls", 30_000, async () => (await calls()).length >= 3);
    assert.doesNotMatch(await logOf("client"), /status=failed|authz_header=<empty>/);
    await cluster.kubectl("delete", "pod", "client", "--grace-period=0", "--force", "--timeout=30s");
  });

  test("[13.1][24.7] kubectl create deployment, with settings from a ConfigMap and a Secret in its environment", async () => {
    await cluster.kubectl("create", "configmap", "settings", "--from-literal=COLOUR=blue");
    await cluster.kubectl("create", "secret", "generic", "keys", "--from-literal=KEY=hidden");
    await cluster.kubectl("create", "deployment", "shop", `--image=${BUSYBOX_IMAGE}`, "--replicas=3", "--", ...SLEEP);
    await cluster.kubectl("set", "env", "deployment/shop", "--from=configmap/settings");
    await cluster.kubectl("set", "env", "deployment/shop", "--from=secret/keys");
    await cluster.kubectl("rollout", "status", "deployment/shop", "--timeout=90s");
    assert.equal(await field("deployment shop", ".status.readyReplicas"), "3");
    await cluster.kubectl("delete", "deployment", "shop", "--cascade=foreground", "--timeout=60s");
  });

  test("[13.16][13.30][13.2] a StatefulSet on a local PersistentVolume keeps its data when its pod is replaced", async () => {
    const disk = join(node.directory, "disk");
    await mkdir(disk);
    const labels = { app: "db" };
    await apply(
      {
        apiVersion: "storage.k8s.io/v1",
        kind: "StorageClass",
        metadata: { name: "local" },
        provisioner: "kubernetes.io/no-provisioner",
        volumeBindingMode: "WaitForFirstConsumer",
      },
      {
        apiVersion: "v1",
        kind: "PersistentVolume",
        metadata: { name: "disk-1" },
        spec: {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteOnce"],
          persistentVolumeReclaimPolicy: "Retain",
          storageClassName: "local",
          local: { path: disk },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node.name] }] },
              ],
            },
          },
        },
      },
      {
        apiVersion: "apps/v1",
        kind: "StatefulSet",
        metadata: { name: "db" },
        spec: {
          serviceName: "db",
          replicas: 1,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              terminationGracePeriodSeconds: 1,
              containers: [
                {
                  name: "db",
                  image: BUSYBOX_IMAGE,
                  command: [
                    "sh",
                    "-c",
                    "echo $(date +%s) >> /data/starts; trap 'exit 0' TERM; while :; do sleep 1000 & wait; done",
                  ],
                  volumeMounts: [{ name: "data", mountPath: "/data" }],
                },
              ],
            },
          },
          volumeClaimTemplates: [
            {
              metadata: { name: "data" },
              spec: {
                accessModes: ["ReadWriteOnce"],
                storageClassName: "local",
                resources: { requests: { storage: "1Gi" } },
              },
            },
          ],
        },
      },
    );
    await cluster.kubectl("rollout", "status", "statefulset/db", "--timeout=90s");
    const starts = async () => (await readFile(join(disk, "starts"), "utf8")).trim().split("\n").length;
    assert.equal(await starts(), 1);
    await cluster.kubectl("delete", "pod", "db-0", "--timeout=60s");
    await waitUntil("the next one", 60_000, async () => (await starts()) === 2);
    await cluster.kubectl("delete", "statefulset", "db", "--cascade=foreground", "--timeout=60s");
    assert.equal(await starts(), 2, "the data outlives the pods");
    await rm(disk, { recursive: true });
  });

  test("[13.7] a Job whose script is a ConfigMap's file completes", async () => {
    await cluster.kubectl("create", "configmap", "script", "--from-literal=run.sh=echo done by a file");
    await apply({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "once" },
      spec: {
        template: {
          spec: {
            restartPolicy: "Never",
            containers: [
              {
                name: "once",
                image: BUSYBOX_IMAGE,
                command: ["sh", "/script/run.sh"],
                volumeMounts: [{ name: "script", mountPath: "/script" }],
              },
            ],
            volumes: [{ name: "script", configMap: { name: "script", defaultMode: 0o755 } }],
          },
        },
      },
    });
    await cluster.kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=60s");
    const pod = await field("pods -l job-name=once", ".items[0].metadata.name");
    assert.equal((await logOf(pod, "once")).trim(), "done by a file");
    await cluster.kubectl("delete", "job", "once", "--cascade=foreground", "--timeout=60s");
  });

  test("[13.6][13.8] a DaemonSet reads a hostPath, and an edited ConfigMap reaches its file at once", async () => {
    const shared = join(node.directory, "shared");
    await mkdir(shared);
    await writeFile(join(shared, "note"), "from the node");
    await cluster.kubectl("create", "configmap", "live", "--from-literal=value=first");
    const labels = { app: "agent" };
    await apply({
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: "agent" },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 1,
            containers: [
              {
                name: "agent",
                image: BUSYBOX_IMAGE,
                command: [
                  "sh",
                  "-c",
                  "cat /host/note; echo; trap 'exit 0' TERM; while :; do cat /live/value; echo; sleep 1 & wait $!; done",
                ],
                volumeMounts: [
                  { name: "host", mountPath: "/host", readOnly: true },
                  { name: "live", mountPath: "/live" },
                ],
              },
            ],
            volumes: [
              { name: "host", hostPath: { path: shared, type: "Directory" } },
              { name: "live", configMap: { name: "live" } },
            ],
          },
        },
      },
    });
    await cluster.kubectl("rollout", "status", "daemonset/agent", "--timeout=90s");
    const pod = await field("pods -l app=agent", ".items[0].metadata.name");
    await waitUntil("the note", 10_000, async () => (await logOf(pod, "agent")).includes("from the node"));
    const file = join(await podDirectory(pod), "volumes", "kubernetes.io~configmap", "live", "value");
    assert.equal(await readFile(file, "utf8"), "first");
    const sinceMs = performance.now();
    await cluster.kubectl("patch", "configmap", "live", "--type=merge", "-p", '{"data":{"value":"second"}}');
    await waitUntil("the new value", 10_000, async () => (await readFile(file, "utf8")) === "second", 5);
    const tookMs = performance.now() - sinceMs;
    assert.ok(tookMs < 5_000, `${tookMs} ms, with kubectl's own time`);
    await waitUntil("the container to see it", 10_000, async () => (await logOf(pod, "agent")).includes("second"));
    await cluster.kubectl("delete", "daemonset", "agent", "--cascade=foreground", "--timeout=60s");
    assert.deepEqual(await readdir(shared), ["note"], "what a hostPath holds stays");
  });

  test("[24.1][24.5] a pod resolves a Service's short, partial and full name with CoreDNS on a Deckhand node, and reaches the Service", async () => {
    await startClusterDns(cluster);
    await cluster.kubectl("create", "namespace", "elsewhere");
    const labels = { app: "store" };
    const store = (namespace: string) => [
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: `store-${namespace}`, namespace, labels },
        spec: { containers: [{ name: "store", image: AGNHOST_IMAGE, args: ["netexec", "--http-port=8080"] }] },
      },
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "store", namespace },
        spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
      },
    ];
    await waitUntil("the account of the namespace", 30_000, async () =>
      (await cluster.kubectl("get", "serviceaccounts", "-n", "elsewhere", "-o", "name")).includes("default"),
    );
    await apply(...store("default"), ...store("elsewhere"));
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/store-default", "--timeout=60s");
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/store-elsewhere", "-n", "elsewhere", "--timeout=60s");
    // agnhost, for its own resolver: that of a static busybox crashes on any name.
    const dial = (name: string) => `http://127.0.0.1:8080/dial?protocol=http&port=80&request=hostname&host=${name}`;
    const names = ["store", "store.default", "store.elsewhere", "store.elsewhere.svc.cluster.local"];
    const asks = names.map(
      (name) => `until wget -qO- "${dial(name)}" 2>/dev/null | grep responses; do sleep 0.2; done`,
    );
    const full = "store.default.svc.cluster.local";
    const script = [
      "cat /etc/resolv.conf",
      "/agnhost netexec --http-port=8080 2>/dev/null &",
      ...asks,
      `nslookup ${full} | grep -A1 ^Name`,
      "sleep 1000",
    ];
    await apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "asker" },
      spec: { containers: [{ name: "asker", image: AGNHOST_IMAGE, command: ["sh", "-c", script.join("\n")] }] },
    });
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/asker", "--timeout=60s");
    await waitUntil("the last answer", 30_000, async () => (await logOf("asker")).includes("Address"));
    assert.deepEqual((await logOf("asker")).trim().split("\n"), [
      "search default.svc.cluster.local svc.cluster.local cluster.local",
      `nameserver ${SERVICE_DNS}`,
      "options ndots:5",
      '{"responses":["store-default"]}',
      '{"responses":["store-default"]}',
      '{"responses":["store-elsewhere"]}',
      '{"responses":["store-elsewhere"]}',
      `Name:\t${full}`,
      `Address: ${await field("service store", ".spec.clusterIP")}`,
    ]);
    assert.equal(await field("pods -n kube-system -l k8s-app=kube-dns", ".items[*].spec.nodeName"), node.name);
    await cluster.kubectl("delete", "pod", "asker", "store-default", "--grace-period=1", "--timeout=30s");
    await cluster.kubectl("delete", "namespace", "elsewhere", "--timeout=60s");
  });
});
