/**
 * Hosts that are each broken in one way: one script breaks a sound host (`guest-node.ts`), another repairs it. doctor
 * reports the cause and, where there are any, its consequences.
 */
import type { FindingName } from "../../src/domain/doctor/finding.ts";
import type { CertificateFiles } from "../cluster/certificates.ts";
import { API, GUEST_ADDRESS, GUEST_NODE, NODE_FILES } from "./guest-node.ts";

export interface BrokenHost {
  readonly is: string;
  /** Each finding once, in doctor's order. */
  readonly finds: readonly FindingName[];
  /** Matches the text of the first finding. */
  readonly seen: RegExp;
  readonly breaks: string;
  readonly repairs: string;
}

type Broken = Pick<BrokenHost, "breaks" | "repairs">;

/** Where the test puts the files that some of these scripts need, and copies of the sound files. */
export const SPARE = "/root/spare";
/** The node's extra kubelet flags, in the file of the kubelet's package. */
export const EXTRA_ARGS = "/etc/default/kubelet";

const { config, kubeconfig, authority, client, serving, resolvConf } = NODE_FILES;
const CNI = "/etc/cni/net.d/10-bridge.conflist";
const CONTAINERD = "/etc/containerd/config.toml";
const RESTART = "systemctl restart containerd";
const WAS = "/run/was";
/** The only network interface; it connects the guest to the host. */
const CARD = "eth0";

/**
 * Waits until the runtime reports that its network is ready, or that it is not: the runtime rereads its CNI directory
 * asynchronously. Calls CRI's Status, whose request is empty. In the response a condition is its type followed, when it
 * is true, by field 2 with value 1.
 */
const networkIs = (ready: boolean) => `for _ in $(seq 100); do
      printf '\\0\\0\\0\\0\\0' | curl -sS -o ${WAS}.status --http2-prior-knowledge --unix-socket /run/containerd/containerd.sock \\
        -H 'content-type: application/grpc' -H 'te: trailers' --data-binary @- http://cri/runtime.v1.RuntimeService/Status || true
      is=unknown
      if grep -qaP 'NetworkReady\\x10\\x01' ${WAS}.status; then is=true; elif grep -qa NetworkReady ${WAS}.status; then is=false; fi
      if [ $is = ${ready} ]; then break; fi
      sleep 0.2
    done
    [ $is = ${ready} ]`;

const edited = (file: string, edit: string, then = "true", repaired = then): Broken => ({
  breaks: `cp -p ${file} ${WAS}\n${edit}\n${then}`,
  repairs: `cp -p ${WAS} ${file}\n${repaired}`,
});
const configured = (line: string) => edited(config, `echo '${line}' >> ${config}`);
const replaced = (file: string, by: string) => edited(file, `cp ${SPARE}/${by} ${file}`);
const away = (path: string): Broken => ({ breaks: `mv ${path} ${path}.away`, repairs: `mv ${path}.away ${path}` });
const written = (file: string, text: string) => edited(file, `printf '${text}' > ${file}`);

const setting = (name: string, value: number): Broken => ({
  breaks: `sysctl -n ${name} > ${WAS}\nsysctl -qw ${name}=${value}`,
  repairs: `sysctl -qw ${name}="$(cat ${WAS})"`,
});

const pair = ({ certFile, keyFile }: CertificateFiles, name: string): Broken => ({
  breaks: `cp -p ${certFile} ${WAS}.crt\ncp -p ${keyFile} ${WAS}.key
    cp ${SPARE}/${name}.crt ${certFile}\ncp ${SPARE}/${name}.key ${keyFile}`,
  repairs: `cp -p ${WAS}.crt ${certFile}\ncp -p ${WAS}.key ${keyFile}`,
});

const clock = (to: string): Broken => ({
  breaks: `echo "$(date +%s) $(cut -d. -f1 /proc/uptime)" > ${WAS}\ndate -s "${to}"`,
  repairs: `read -r then up < ${WAS}\ndate -s "@$((then + $(cut -d. -f1 /proc/uptime) - up))"`,
});

const listening = (port: number): Broken => ({
  breaks: `systemd-run --quiet --collect --unit taken --service-type=exec socat TCP-LISTEN:${port},fork,reuseaddr OPEN:/dev/null
    until (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null; do sleep 0.2; done`,
  repairs: "systemctl stop taken",
});

const mountedOver = (path: string, options: string, then = "true"): Broken => ({
  breaks: `mkdir -p ${path}\nmount -t tmpfs -o ${options} tmpfs ${path}\ncd ${path}\n${then}`,
  repairs: `umount ${path}`,
});

/** Fills the disk up to `leftMib` MiB by allocating space without writing it. */
const filled = (leftMib: number, then = "true"): Broken => ({
  breaks: `fallocate -l $(($(stat -f -c '%a*%S' /) - ${leftMib}*1024*1024)) /fill\n${then}`,
  repairs: "rm -f /fill /fill.rest",
});

const readOnly = (path: string): Broken => ({
  breaks: `mount --bind ${path} ${path}\nmount -o remount,bind,ro ${path}`,
  repairs: `umount ${path}`,
});

/** Mounts a controller in a cgroup v1 hierarchy, which removes it from v2. */
const takenByV1 = (controller: string): Broken => ({
  breaks: `cd /sys/fs/cgroup
    grep -lw ${controller} $(find . -name cgroup.subtree_control) | xargs dirname | sort > ${WAS}
    sort -r ${WAS} | while read -r group; do echo -${controller} > "$group/cgroup.subtree_control"; done
    mkdir -p /run/v1
    for _ in $(seq 20); do mount -t cgroup -o ${controller} ${controller} /run/v1 && break; sleep 0.5; done
    mountpoint /run/v1`,
  repairs: `umount /run/v1
    cd /sys/fs/cgroup
    until grep -qw ${controller} cgroup.controllers; do sleep 0.2; done
    while read -r group; do echo +${controller} > "$group/cgroup.subtree_control"; done < ${WAS}`,
});

const NODE_OBJECT = JSON.stringify({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: GUEST_NODE },
  status: {
    conditions: [{ type: "Ready", status: "True", reason: "KubeletReady", message: "" }],
    nodeInfo: { machineID: "0123456789abcdef0123456789abcdef" },
  },
});
const ASK_API = `curl -sSf -o /dev/null --cacert ${authority} --cert ${SPARE}/admin.crt --key ${SPARE}/admin.key --resolve ${API.name}:${API.port}:${API.address}`;
const NODES = `https://${API.name}:${API.port}/api/v1/nodes`;

const host = (is: string, finds: FindingName | readonly FindingName[], seen: RegExp, broken: Broken): BrokenHost => ({
  is,
  finds: [finds].flat(),
  seen,
  ...broken,
});

/**
 * CI runs a few of these on every change (`IN_CI` in `test/guest/doctor.test.ts`). The hosts of the first block are
 * spread over everything that can break.
 */
export const BROKEN_HOSTS: readonly BrokenHost[] = [
  host("no CNI configuration", "cni-configuration-missing", /net\.d holds no/, away(CNI)),
  host("the runtime is down", "runtime-unreachable", /containerd\.sock: /, {
    breaks: "systemctl stop containerd",
    repairs: "systemctl start containerd",
  }),
  host(
    "the wrong driver in the configuration",
    "cgroup-driver-overridden",
    /says cgroupfs, the runtime says systemd/,
    edited(config, `sed -i 's/^cgroupDriver:.*/cgroupDriver: cgroupfs/' ${config}`),
  ),
  host("swap is on", "swap-on", /swap is on: \/swap/, {
    breaks: "dd if=/dev/zero of=/swap bs=1M count=16\nchmod 600 /swap\nmkswap /swap\nswapon /swap",
    repairs: "swapoff /swap\nrm /swap",
  }),
  host(
    "the port is taken",
    "port-taken",
    /:10250, for the node's own API, is taken by pid \d+ \(.*socat/,
    listening(10_250),
  ),
  host(
    "the client certificate has expired",
    ["client-certificate-expired", "api-unauthorized"],
    /ended on/,
    pair(client, "expired"),
  ),
  host(
    "the disk is full",
    "disk-full",
    /has 0 MiB of \d+ MiB left/,
    filled(16, "dd if=/dev/zero of=/fill.rest bs=64k || true"),
  ),
  host("packets are not passed on", "ip-forward-off", /is 0/, setting("net.ipv4.ip_forward", 0)),
  host("a kubelet of another make runs", "another-kubelet", /pid \d+ \(\/opt\/kubernetes\/bin\/kubelet/, {
    // No server listens there: this kubelet waits for its certificate before it does anything else.
    breaks: `systemd-run --quiet --collect --unit other --service-type=exec /opt/kubernetes/bin/kubelet --config=${config} \
      --bootstrap-kubeconfig=${SPARE}/nobody.conf --kubeconfig=/run/other/kubelet.conf --root-dir=/run/other --cert-dir=/run/other/pki`,
    repairs: "systemctl stop other",
  }),
  host("the API server cannot be reached", "api-unreachable", /10\.0\.2\.100:6443: /, {
    breaks: `ip route add unreachable ${API.address}/32`,
    repairs: `ip route del unreachable ${API.address}/32`,
  }),
  host("a clock that is ahead", "clock-skewed", /ahead of/, clock("+2 hours")),
  host("the kernel's messages are hidden", "kmsg-unreadable", /kmsg/, away("/dev/kmsg")),
  host("a configuration with a value that is refused", "configuration-refused", /maxPods/, configured("maxPods: -1")),
  host("another name than the certificate's", ["node-name-not-ours", "api-forbidden"], /system:node:guest.* other/, {
    breaks: "hostname other",
    repairs: `hostname ${GUEST_NODE}`,
  }),
  host(
    "a CNI plug-in that is not installed",
    "cni-plugin-missing",
    /^portmap, needed by/,
    away("/opt/cni/bin/portmap"),
  ),
  host("control groups that are read-only", "cgroup-read-only", /read-only/, {
    breaks: "mount -o remount,bind,ro /sys/fs/cgroup",
    repairs: "mount -o remount,bind,rw /sys/fs/cgroup",
  }),
  host("kernel settings that cannot be written", "kernel-setting-locked", /and is to be/, readOnly("/proc/sys")),
  host("credentials of somebody who is no node", "api-forbidden", /forbidden/, pair(client, "somebody")),
  host("a directory that is read-only", "folder-unwritable", /kubelet: EROFS/, readOnly("/var/lib/kubelet")),
  host(
    "the stub of systemd-resolved",
    "resolv-conf-loop",
    /127\.0\.0\.53/,
    written(resolvConf, "nameserver 127.0.0.53\\n"),
  ),

  host(
    "a configuration with a field that is spelt wrongly",
    "configuration-lenient",
    /maxPodz/,
    configured("maxPodz: 1"),
  ),
  host(
    "nobody may ask the node",
    "access-refused",
    /no authentication method/,
    edited(
      config,
      `sed -i '/^authentication:/,/^authorization:/{s/enabled: true/enabled: false/;/x509:/d;/clientCAFile:/d}' ${config}`,
    ),
  ),
  host("a name that no node can have", ["node-name-invalid", "node-name-not-ours", "api-forbidden"], /my_host/, {
    breaks: "sysctl -qw kernel.hostname=my_host",
    repairs: `hostname ${GUEST_NODE}`,
  }),
  host("a machine alive under the same name", "node-name-taken", /0123456789abcdef reports as guest/, {
    breaks: `${ASK_API} -H 'Content-Type: application/json' -d '${NODE_OBJECT}' ${NODES}`,
    repairs: `${ASK_API} -X DELETE ${NODES}/${GUEST_NODE}`,
  }),
  host("an address that is not this machine's any more", "node-address-unusable", /10\.0\.2\.15/, {
    breaks: `ip address del ${GUEST_ADDRESS}/24 dev ${CARD}\nip address add 10.0.2.16/24 dev ${CARD}`,
    repairs: `ip address del 10.0.2.16/24 dev ${CARD}\nip address add ${GUEST_ADDRESS}/24 dev ${CARD}`,
  }),
  host(
    "containerd without CRI",
    "runtime-without-cri",
    /runtime\.v1\.RuntimeService/,
    edited(CONTAINERD, `sed -i '1a disabled_plugins = ["io.containerd.grpc.v1.cri"]' ${CONTAINERD}`, RESTART),
  ),
  host(
    "an image service that is not there",
    "image-service-unreachable",
    /nobody\.sock/,
    configured("imageServiceEndpoint: unix:///run/nobody.sock"),
  ),
  host("a CNI configuration that is no JSON", "cni-configuration-broken", /it is no JSON/, written(CNI, "{")),
  host(
    "a CNI configuration that the runtime refuses",
    "network-not-ready",
    /NetworkReady is false/,
    edited(CNI, `sed -i '2i "disableCheck": "perhaps",' ${CNI}`, networkIs(false), networkIs(true)),
  ),
  host("no control groups", ["configuration-refused", "cgroup-missing"], /cgroup v1/, {
    breaks: "umount -l /sys/fs/cgroup",
    repairs: "mount -t cgroup2 -o nosuid,nodev,noexec,relatime,nsdelegate,memory_recursiveprot cgroup2 /sys/fs/cgroup",
  }),
  host(
    "cgroupfs on a machine of systemd's",
    ["cgroup-driver-overridden", "cgroupfs-under-systemd"],
    /says systemd, the runtime says cgroupfs/,
    edited(CONTAINERD, `sed -i 's/SystemdCgroup = true/SystemdCgroup = false/' ${CONTAINERD}`, RESTART),
  ),
  host("no sign of systemd", "cgroup-driver-without-systemd", /systemd/, away("/run/systemd/system")),
  host(
    "kernel settings that may not be written, and are wrong",
    "kernel-setting-wrong",
    /and is to be/,
    configured("protectKernelDefaults: true"),
  ),
  host(
    "packets on a bridge pass by iptables",
    "bridge-netfilter-off",
    /is 0/,
    setting("net.bridge.bridge-nf-call-iptables", 0),
  ),
  host("br_netfilter is not loaded", "bridge-netfilter-off", /not loaded/, {
    breaks: "modprobe -r br_netfilter",
    repairs: "modprobe br_netfilter\nsysctl -qw net.bridge.bridge-nf-call-iptables=1",
  }),
  host("a node of IPv6 that does not pass it on", "ipv6-forward-off", /all\.forwarding is 0/, {
    breaks: `ip address add fd00::15/64 dev ${CARD} nodad\necho 'KUBELET_EXTRA_ARGS="--node-ip=fd00::15"' > ${EXTRA_ARGS}`,
    repairs: `ip address del fd00::15/64 dev ${CARD}\n: > ${EXTRA_ARGS}`,
  }),
  host("no overlay", "overlay-missing", /overlay/, { breaks: "modprobe -r overlay", repairs: "modprobe overlay" }),
  host(
    "few inotify instances",
    "inotify-low",
    /max_user_instances is 16/,
    setting("fs.inotify.max_user_instances", 16),
  ),
  host("few inotify watches", "inotify-low", /max_user_watches is 1024/, setting("fs.inotify.max_user_watches", 1024)),
  host("few process numbers", "pid-max-low", /pid_max is 4096/, setting("kernel.pid_max", 4096)),
  host("the port of health is taken", "port-taken", /:10248, for healthz, is taken by pid/, listening(10_248)),
  host("no credentials, and none to begin with", "bootstrap-kubeconfig-refused", /kubelet\.conf/, away(kubeconfig)),
  host(
    "a client certificate of the future",
    ["client-certificate-not-yet", "api-unauthorized"],
    /begins on/,
    pair(client, "future"),
  ),
  host(
    "the client key of another",
    "client-key-not-ours",
    /another certificate/,
    replaced(client.keyFile, "expired.key"),
  ),
  host("credentials of another cluster", "api-unauthorized", /Unauthorized/, pair(client, "other")),
  host("a serving certificate that has expired", "serving-certificate-expired", /ended on/, pair(serving, "expired")),
  host(
    "a serving key of another certificate",
    "serving-certificate-refused",
    /another certificate/,
    replaced(serving.keyFile, "other.key"),
  ),
  host("no file of authorities", "client-ca-refused", /ca\.crt/, away(authority)),
  host("an authority that has expired", "client-ca-expired", /ended on/, replaced(authority, "expired.crt")),
  host(
    "a clock without a battery",
    ["clock-unset", "client-certificate-not-yet", "api-unreachable", "serving-certificate-not-yet"],
    /it is 2020-01-01/,
    clock("2020-01-01"),
  ),
  host("a disk that is nearly full", "disk-pressure", /less than/, filled(300)),
  host(
    "no inodes for logs",
    "inodes-gone",
    /0 of \d+ inodes/,
    mountedOver("/var/log/pods", "nr_inodes=2", "touch one"),
  ),
  host("few inodes for the agent", "inodes-pressure", /kubelet \(.* less than/, {
    // The agent's own files stay as they were; other files beside them use up the inodes.
    breaks: `cp -a /var/lib/kubelet ${WAS}.kubelet
      mount -t tmpfs -o nr_inodes=1000 tmpfs /var/lib/kubelet
      cp -a ${WAS}.kubelet/. /var/lib/kubelet
      mkdir /var/lib/kubelet/many
      cd /var/lib/kubelet/many
      touch $(seq $(($(stat -f -c %d .) - 20)))`,
    repairs: `umount /var/lib/kubelet\nrm -r ${WAS}.kubelet`,
  }),
  host("no resolv.conf", "resolv-conf-refused", /resolv\.conf/, away(resolvConf)),
  host("a resolv.conf without a server", "resolv-conf-empty", /no nameserver/, written(resolvConf, "")),
  host("no flock", "program-missing", /no flock/, away("/usr/bin/flock")),
  host("no iptables", "iptables-missing", /no iptables/, away("/usr/sbin/iptables")),
  host("no cpuset controller", "cgroup-controller-missing", /for cpuset$/, takenByV1("cpuset")),
];
