/**
 * Upstream's list of its images: those that are built here and those that need not be.
 * `test/integration/upstream-images.test.ts` compares it with the sources.
 */

/**
 * The images of upstream's list that are built, by upstream's names for them (test/utils/image/manifest.go of v1.36.4).
 */
export const WANTED = {
  Agnhost: "registry.k8s.io/e2e-test-images/agnhost:2.63.0",
  AgnhostPrev: "registry.k8s.io/e2e-test-images/agnhost:2.55",
  APIServer: "registry.k8s.io/e2e-test-images/sample-apiserver:1.29.2",
  BusyBox: "registry.k8s.io/e2e-test-images/busybox:1.37.0-1",
  Etcd: "registry.k8s.io/etcd:3.6.8-0",
  GlibcDnsTesting: "registry.k8s.io/e2e-test-images/glibc-dns-testing:2.0.0",
  IpcUtils: "registry.k8s.io/e2e-test-images/ipc-utils:1.4",
  Kitten: "registry.k8s.io/e2e-test-images/kitten:1.8",
  Nautilus: "registry.k8s.io/e2e-test-images/nautilus:1.8",
  Nginx: "registry.k8s.io/e2e-test-images/nginx:1.15-4",
  NginxNew: "registry.k8s.io/e2e-test-images/nginx:1.27-0",
  NonRoot: "registry.k8s.io/e2e-test-images/nonroot:1.5",
  Nonewprivs: "registry.k8s.io/e2e-test-images/nonewprivs:1.4",
  Pause: "registry.k8s.io/pause:3.10.2",
  Perl: "registry.k8s.io/e2e-test-images/perl:5.26",
} as const;

/** No test with the labels Conformance or NodeConformance runs these; the first two must not exist. */
export const NOT_WANTED = [
  "AgnhostPrivate",
  "InvalidRegistryImage",
  "AppArmorLoader",
  "DistrolessIptables",
  "NFSProvisioner",
  "NodePerfNpbEp",
  "NodePerfNpbIs",
  "NodePerfPytorchWideDeep",
  "RegressionIssue74839",
  "ResourceConsumer",
  "VolumeISCSIServer",
  "VolumeNFSServer",
] as const;
