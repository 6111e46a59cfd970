import assert from "node:assert/strict";
import { test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import { hostsFileOf, needsHostsFile, nodeHostsFile, podHostsFile } from "./hosts-file.ts";

const HEAD = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;
const ALIASES = {
  hostAliases: [
    { ip: "198.51.100.1", hostnames: ["one", "one.example"] },
    { ip: "2001:db8::9", hostnames: ["six"] },
  ],
};
const OF_ALIASES = `
# Entries added by HostAliases.
198.51.100.1\tone\tone.example
2001:db8::9\tsix
`;

test("[24.4] the hosts file has a line for each pod IP, with the domain if the pod has one", () => {
  const names = { podIps: ["198.18.0.5", "2001:db8::5"], hostname: "web", domain: "" };
  assert.equal(utf8Text(podHostsFile(pod(), names)), `${HEAD}198.18.0.5\tweb\n2001:db8::5\tweb\n`);
  const domain = "sub.shop.svc.cluster.local";
  const qualified = `198.18.0.5\tweb.${domain}\tweb\n2001:db8::5\tweb.${domain}\tweb\n`;
  assert.equal(utf8Text(podHostsFile(pod(), { ...names, domain })), `${HEAD}${qualified}`);
});

test("[24.4] hostAliases come last, all names of an address on one line", () => {
  const names = { podIps: ["198.18.0.5"], hostname: "web", domain: "" };
  assert.equal(utf8Text(podHostsFile(pod(ALIASES), names)), `${HEAD}198.18.0.5\tweb\n${OF_ALIASES}`);
});

test("[24.4] a pod with hostNetwork has the node's hosts file byte for byte, followed by its hostAliases", () => {
  const ofNode = Uint8Array.of(0x61, 0xff, 0x0a);
  const header = utf8Bytes("# Kubernetes-managed hosts file (host network).\n");
  assert.deepEqual(nodeHostsFile(pod(), ofNode), Uint8Array.from([...header, ...ofNode]));
  assert.deepEqual(
    nodeHostsFile(pod(ALIASES), ofNode),
    Uint8Array.from([...header, ...ofNode, ...utf8Bytes(OF_ALIASES)]),
  );
});

test("[24.4] the hosts file needs a pod IP or hostNetwork, and no mount of the container at /etc/hosts", () => {
  const mounting = (mountPath: string) => container("app", { volumeMounts: [{ name: "v", mountPath }] });
  const ips = ["198.18.0.5"];
  assert.equal(needsHostsFile(pod(), container("app"), ips), true);
  assert.equal(needsHostsFile(pod(), container("app"), []), false);
  assert.equal(needsHostsFile(pod({ hostNetwork: true }), container("app"), []), true);
  assert.equal(needsHostsFile(pod(), mounting("/etc/hosts"), ips), false);
  assert.equal(needsHostsFile(pod({ hostNetwork: true }), mounting("/etc/hosts"), ips), false);
  assert.equal(needsHostsFile(pod(), mounting("/etc"), ips), true);
});

test("[27.1.14] the hosts file is etc-hosts in the pod's directory", () => {
  assert.equal(hostsFileOf("/var/lib/kubelet/pods/u-1"), "/var/lib/kubelet/pods/u-1/etc-hosts");
});
