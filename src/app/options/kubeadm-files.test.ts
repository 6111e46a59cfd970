import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { directoryOf, HEADER, load } from "../../../test/support/options.ts";

/** Splits the variable of the file at spaces, as systemd does for the command line. */
const argsOf = (environmentFile: string): readonly string[] =>
  /^KUBELET_KUBEADM_ARGS="(?<args>.*)"$/m.exec(environmentFile)?.groups?.["args"]?.split(" ") ?? [];

test("[27.1.2] kubeadm's three files in the root directory are accepted unchanged", (t) => {
  const directory = directoryOf(t, {
    "config.yaml": `${HEADER}cgroupDriver: cgroupfs\nclusterDNS:\n- 10.96.0.10\nclusterDomain: cluster.local\nrotateCertificates: true\nstaticPodPath: /etc/kubernetes/manifests\ncontainerRuntimeEndpoint: ""\n`,
    "instance/10-instance-config.conf": `${HEADER}containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n`,
  });
  const flags = 'KUBELET_KUBEADM_ARGS="--hostname-override=n1 --node-ip=198.19.1.2 --node-labels=a=b --v=2"\n';
  const { options } = load([
    `--config=${join(directory, "config.yaml")}`,
    `--config-dir=${join(directory, "instance")}`,
    "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
    "--kubeconfig=/etc/kubernetes/kubelet.conf",
    ...argsOf(flags),
  ]);
  assert.equal(options.node.name, "n1");
  assert.deepEqual(options.node.ips, ["198.19.1.2"]);
  assert.deepEqual(options.identity, {
    bootstrapKubeconfigPath: "/etc/kubernetes/bootstrap-kubelet.conf",
    rotates: true,
    serving: { kind: "selfSigned", reload: true },
  });
  assert.deepEqual(options.warnings, []);
  assert.deepEqual(options.pods.clusterDns, ["10.96.0.10"]);
  assert.equal(options.pods.staticDirectory?.path, "/etc/kubernetes/manifests");
  assert.equal(options.runtime.endpoint, "unix:///run/containerd/containerd.sock");
});
