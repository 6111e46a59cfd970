/**
 * A cluster made with kubeadm: one machine gets a control plane of static pods; a second machine joins by token, is
 * upgraded and leaves. The same agent is the kubelet of both. The commands are those of docs/install.md.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { errorText } from "../../src/base/error-text.ts";
import { BUSYBOX_IMAGE } from "../cluster/images.ts";
import { pause } from "../cluster/wait.ts";
import { figure } from "../figures.ts";
import type { Guest } from "../guest/guest.ts";
import type { Agent } from "./guest-agents.ts";
import { KubeadmMachines } from "./kubeadm-machines.ts";
import { examplesUnder } from "./typed-lines.ts";

const LIMIT_MS = 25 * 60_000;
/** As long as an agent on an emulated machine needs to inspect everything again. */
const SETTLE_MS = 60_000;
const CONFIGURATION = "/var/lib/kubelet/config.yaml";

/** The pods of a control plane that kubeadm has set up, by their labels. */
const PODS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-dns",
  "kube-dns",
  "kube-proxy",
  "kube-scheduler",
];

/** A disk without a file system: the agent creates one. */
const DEVICE = "/dev/loop7";
const MAKE_DEVICE = `truncate --size=64M /root/disk.img && losetup ${DEVICE} /root/disk.img`;
const CAPACITY = { storage: "64Mi" };
const DISK = [
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "disk" },
    spec: {
      capacity: CAPACITY,
      accessModes: ["ReadWriteOnce"],
      claimRef: { namespace: "default", name: "disk" },
      local: { path: DEVICE, fsType: "ext4" },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["two"] }] },
          ],
        },
      },
    },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "disk" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "",
      volumeName: "disk",
      resources: { requests: CAPACITY },
    },
  },
];

/** Forwards a port of the pod and prints the first line that the pod sends. */
const FORWARD = `kubectl port-forward pod/looks-up 18080:8080 >/dev/null & forward=$!
  trap 'kill $forward' EXIT
  until line=$(exec 3<>/dev/tcp/127.0.0.1/18080 && timeout 60 head -n 1 <&3) && [ -n "$line" ]; do sleep 1; done
  echo "$line"`;

/** Has mounts of every common kind, serves a port, and becomes Ready once it has resolved a name of the cluster. */
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "looks-up" },
  spec: {
    nodeName: "two",
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "main",
        image: BUSYBOX_IMAGE,
        command: [
          "sh",
          "-c",
          "nc -ll -p 8080 -e echo here & until nslookup -type=a kubernetes.default.svc.cluster.local; do sleep 1; done; touch /memory/found; exec sleep 86400",
        ],
        readinessProbe: { exec: { command: ["test", "-e", "/memory/found"] }, timeoutSeconds: 30 },
        volumeMounts: [
          { name: "memory", mountPath: "/memory" },
          { name: "config", mountPath: "/config" },
          { name: "disk", mountPath: "/disk" },
        ],
      },
    ],
    volumes: [
      { name: "memory", emptyDir: { medium: "Memory" } },
      { name: "config", configMap: { name: "kube-root-ca.crt" } },
      { name: "disk", persistentVolumeClaim: { claimName: "disk" } },
    ],
  },
};

export function kubeadmSuite(agent: Agent): void {
  describe(`kubeadm with ${agent === "go" ? "the Go kubelet" : "Deckhand"} in guests`, () => {
    const stack = new AsyncDisposableStack();
    let machines: KubeadmMachines;
    let one: Guest;
    let two: Guest;

    before(async () => {
      machines = stack.use(await KubeadmMachines.prepare());
      one = await machines.start("one", agent);
    });
    after(() => stack.disposeAsync());

    const typed = async (guest: Guest, line: string) => {
      try {
        return await guest.must(`cd /root\n${line}`, { limitMs: LIMIT_MS });
      } catch (error) {
        throw new Error(`${errorText(error)}\nthe control plane meanwhile:\n${await reported(one)}`, { cause: error });
      }
    };
    /** Runs `kubectl` and `kubeadm token` on the first machine, everything else on the second. */
    const typedWhereItBelongs = (line: string) => typed(/^(kubectl|kubeadm token) /.test(line) ? one : two, line);
    const agentOf = async (guest: Guest) => {
      const pid = (await guest.must("systemctl show -p MainPID --value kubelet.service")).trim();
      return { pid, program: (await guest.must(`readlink /proc/${pid}/exe`)).trim() };
    };
    /** The tasks in containerd, each with its process ID. */
    const containersOf = (guest: Guest) => guest.must("ctr -n k8s.io tasks ls | sort");

    test("[27.1.2] [27.1.4] [27.1.38] init: a control plane of static pods, a Ready node, kube-proxy and CoreDNS", async () => {
      const startedMs = performance.now();
      for (const line of examplesUnder("docs/install.md", "A cluster by kubeadm")) {
        await typed(one, line);
        figure(`${agent}: until the end of ${line.split(" ").slice(0, 3).join(" ")}`, secondsSince(startedMs), "s");
      }
      await typed(one, "kubectl wait pod --all --all-namespaces --for=condition=Ready --timeout=20m");
      const labels = "{.metadata.labels.component}{.metadata.labels.k8s-app}";
      const pods = await typed(one, `kubectl get pods -A -o jsonpath='{range .items[*]}${labels}{"\\n"}{end}'`);
      assert.deepEqual(pods.trim().split("\n").toSorted(), PODS);
      assert.equal((await agentOf(one)).program, agent === "go" ? "/usr/bin/kubelet" : "/usr/bin/deckhand");
      assert.match(await one.must("cat /etc/kubernetes/kubelet.conf"), /client-key: \S+\/kubelet-client-current\.pem/);
    });

    test("[2.1] [27.1.2] [27.1.3] join: the second machine becomes Ready by token; its pods resolve cluster names, get a new file system, and serve exec and port-forward", async () => {
      two = await machines.start("two", agent);
      const [print = "", join = "", ...rest] = examplesUnder("docs/install.md", "Joining a node by kubeadm");
      const printed = (await typed(one, print)).trim();
      assert.equal(shapeOf(printed), shapeOf(join));
      const startedMs = performance.now();
      await typed(two, printed);
      figure(`${agent}: until the end of kubeadm join`, secondsSince(startedMs), "s");
      for (const line of rest) await typedWhereItBelongs(line);
      figure(`${agent}: from kubeadm join to a Ready node`, secondsSince(startedMs), "s");
      await two.must(MAKE_DEVICE);
      const items = [...DISK, POD];
      await one.put({ "/root/pod.json": { content: JSON.stringify({ apiVersion: "v1", kind: "List", items }) } });
      // An emulated API server may take longer for its OpenAPI document than the 32 s that kubectl waits.
      await typed(
        one,
        "kubectl create --validate=false -f pod.json; kubectl wait pod/looks-up --for=condition=Ready --timeout=20m",
      );
      figure(`${agent}: from kubeadm join to a pod that found a name`, secondsSince(startedMs), "s");
      assert.match(await typed(one, "kubectl logs looks-up"), /Address: 198\.19\.0\.1\b/);
      assert.match(
        await typed(one, "kubectl exec looks-up -- grep ' /disk ' /proc/mounts"),
        /^\/dev\/loop7 \/disk ext4 /,
      );
      assert.equal(await typed(one, FORWARD), "here\n");
    });

    test("[27.1.2] upgrade node: kubeadm rewrites the kubelet's files, and the restarted agent keeps the containers", async () => {
      const [containers, before] = [await containersOf(two), await agentOf(two)];
      await two.must(`touch -d @0 ${CONFIGURATION}`);
      const [upgrade = "", ...rest] = examplesUnder("docs/install.md", "Upgrading a node by kubeadm");
      await typedWhereItBelongs(upgrade);
      assert.notEqual(await two.must(`stat -c %Y ${CONFIGURATION}`), "0\n");
      assert.deepEqual(await agentOf(two), before);
      for (const line of rest) await typedWhereItBelongs(line);
      const now = await agentOf(two);
      assert.equal(now.program, before.program);
      assert.notEqual(now.pid, before.pid);
      await typed(one, "until kubectl exec looks-up -- test -e /memory/found; do sleep 1; done");
      await pause(SETTLE_MS);
      assert.equal(await containersOf(two), containers);
    });

    test("reset: no pod, mount or process of the node is left", async () => {
      assert.notEqual(await left(two), "");
      for (const line of examplesUnder("docs/install.md", "Leaving a cluster")) await typedWhereItBelongs(line);
      assert.equal(await left(two), "");
      assert.equal(await typed(one, "kubectl get nodes -o name"), "node/one\n");
    });
  });
}

const secondsSince = (startedMs: number) => Math.round((performance.now() - startedMs) / 1000);

/** Equal for two lines that differ only in address, token and hash. */
const shapeOf = (line: string) =>
  line
    .trim()
    .replace(/\d+\.\d+\.\d+\.\d+:\d+/, "ADDRESS")
    .replace(/[a-z0-9]{6}\.[a-z0-9]{16}/, "TOKEN")
    .replace(/[0-9a-f]{64}/, "HASH");

/**
 * The state of a control plane's machine: the last log lines of restarted containers, the agent's warnings and errors,
 * and the end of the kernel log.
 */
const reported = async (guest: Guest) => {
  const script = `
    for log in /var/log/pods/kube-system_*/*/*.log; do echo "== $log"; [ -e "\${log%/*}/1.log" ] && tail -n 5 "$log"; done
    journalctl -u kubelet.service --no-pager | grep -E 'kubelet\\[[0-9]+\\]: [WEF]' | tail -n 20
    dmesg | tail -n 10`;
  return (await guest.run(script, { limitMs: LIMIT_MS })).stdout;
};

/** Everything that a node has while it runs pods: containers, tasks, mounts, processes and files. */
const left = (guest: Guest) =>
  guest.must(`
    ctr -n k8s.io containers ls -q
    ctr -n k8s.io tasks ls -q
    awk '{ print $5 }' /proc/self/mountinfo | grep -E '^/var/lib/kubelet|^/run/netns/|io\\.containerd\\..*/(rootfs|shm)' || true
    find /sys/fs/cgroup/kubepods.slice -name cgroup.procs -exec cat {} + 2>/dev/null || true
    pgrep -a 'kubelet|deckhand|containerd-shim|kube-proxy' | grep -v deckhand-runner || true
    find /etc/kubernetes /var/lib/kubelet -type f -not -path '/etc/kubernetes/tmp/*' 2>/dev/null || true`);
