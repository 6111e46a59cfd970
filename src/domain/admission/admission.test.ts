import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { admissionContext } from "../../../test/support/admission-context.ts";
import type { ContainerPort, Node, Pod, PodSpec } from "../../api/gen/core-v1.ts";
import { admit } from "./admission.ts";
import type { AdmissionContext } from "./admission-context.ts";

const NODE: Node = {
  metadata: { name: "n1", labels: { zone: "a", cores: "8" } },
  spec: {
    taints: [
      { key: "dedicated", value: "db", effect: "NoExecute" },
      { key: "busy", effect: "NoSchedule" },
    ],
  },
  status: {
    allocatable: {
      cpu: "4",
      memory: "8Gi",
      "ephemeral-storage": "10Gi",
      pods: "5",
      "hugepages-2Mi": "4Mi",
      "example.com/gpu": "2",
    },
  },
};
const CONTEXT = admissionContext(NODE, { declaredFeatures: [] });

const tolerations = [{ key: "dedicated", operator: "Exists" }];
const made = (spec: Partial<PodSpec> = {}, metadata: Pod["metadata"] = {}): Pod => ({
  metadata: { name: "p", namespace: "ns", ...metadata },
  spec: { containers: [{ name: "c" }], tolerations, ...spec },
});
const asking = (requests: Record<string, string>, more: Partial<PodSpec> = {}, metadata?: Pod["metadata"]): Pod =>
  made({ containers: [{ name: "c", resources: { requests } }], ...more }, metadata);
const admissionOf = (
  pod: Pod,
  active: readonly Pod[] = [],
  context: Partial<AdmissionContext> = {},
  preempted: readonly Pod[] = [],
) => admit(pod, { active, preempted }, { ...CONTEXT, ...context });
const rejectionOf = (pod: Pod, others: readonly Pod[] = [], context: Partial<AdmissionContext> = {}) => {
  const verdict = admissionOf(pod, others, context);
  return verdict.kind === "rejected" || verdict.kind === "labelMismatch" ? verdict.rejection : undefined;
};
const reasonOf = (pod: Pod, ...others: readonly Pod[]) => rejectionOf(pod, others)?.reason;
const podWith = (...ports: readonly Partial<ContainerPort>[]): Pod =>
  made({ containers: [{ name: "c", ports: ports.map((port) => ({ containerPort: 80, ...port })) }] });

void suite("admission of a pod", () => {
  test("[5.4] a pod for another operating system is rejected, by its OS label before its OS field", () => {
    const windows = made({ os: { name: "windows" } });
    const label = "kubernetes.io/os";
    assert.deepEqual(rejectionOf(windows, []), {
      reason: "PodOSNotSupported",
      message: "Failed to admit pod as the OS field doesn't match node OS",
    });
    assert.deepEqual(rejectionOf({ ...windows, metadata: { labels: { [label]: "windows" } } }, []), {
      reason: "PodOSSelectorNodeLabelDoesNotMatch",
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    });
    const linux = made({ os: { name: "linux" } }, { labels: { [label]: "linux" } });
    assert.equal(rejectionOf(linux, []), undefined);
  });

  test("[5.3] a pod is rejected when another pod has its host port", () => {
    const [one, other] = [podWith({ hostPort: 8080 }), podWith({ hostPort: 8080 })];
    assert.deepEqual(rejectionOf(one, [podWith(), other]), {
      reason: "NodePorts",
      message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    });
    assert.equal(reasonOf(one), undefined);
    assert.equal(reasonOf(podWith({ hostPort: 8081 }), other), undefined);
    assert.equal(reasonOf(podWith({}), podWith({})), undefined, "a port of the pod's own");
  });

  test("[5.3] host ports conflict for the same protocol and host IP, and an unspecified IP matches every IP", () => {
    const at = (hostIP: string, protocol = "TCP") => podWith({ hostPort: 53, hostIP, protocol });
    assert.equal(reasonOf(at("127.0.0.1"), at("127.0.0.2")), undefined);
    assert.equal(reasonOf(at("127.0.0.1"), at("127.0.0.1", "UDP")), undefined);
    for (const [one, other] of [
      ["", "127.0.0.1"],
      ["127.0.0.1", "0.0.0.0"],
      ["", "0.0.0.0"],
      ["127.0.0.1", "127.0.0.1"],
    ] as const)
      assert.equal(reasonOf(at(one), at(other)), "NodePorts", `${one} and ${other}`);
  });

  test("[5.3] a sidecar's host ports are reserved, those of other init containers are not", () => {
    const before = (restartPolicy?: "Always"): Pod =>
      made({
        initContainers: [
          {
            name: "i",
            ports: [{ containerPort: 80, hostPort: 9 }],
            ...(restartPolicy === undefined ? {} : { restartPolicy }),
          },
        ],
      });
    assert.equal(reasonOf(podWith({ hostPort: 9 }), before("Always")), "NodePorts");
    assert.equal(reasonOf(podWith({ hostPort: 9 }), before()), undefined);
  });

  test("[25.8] a pod with a RuntimeClass is undecidable until RuntimeClasses are listed, unless it is rejected anyway or must be decided", () => {
    const unheard = { knowsRuntimeClasses: false };
    const classy = made({ runtimeClassName: "gvisor" });
    assert.deepEqual(admissionOf(classy, [], unheard), {
      kind: "undecidable",
      fits: true,
      deferral: { reason: "WaitingForRuntimeClass", message: "RuntimeClass gvisor: no list of them has come yet" },
    });
    assert.deepEqual(admissionOf(classy), { kind: "admitted" });
    assert.deepEqual(admissionOf(classy, [], { ...unheard, mustDecide: true }), { kind: "admitted" });
    assert.deepEqual(admissionOf(made({ runtimeClassName: "" }), [], unheard), { kind: "admitted" });
    assert.equal(
      admissionOf(made({ runtimeClassName: "gvisor", os: { name: "windows" } }), [], unheard).kind,
      "rejected",
    );
  });

  test("[5.2] a pod is undecidable until the Node is known, unless it is rejected whatever the Node says or must be decided", () => {
    assert.deepEqual(admissionOf(asking({ cpu: "1" }), [], { node: undefined }), {
      kind: "undecidable",
      fits: false,
      deferral: { reason: "WaitingForNode", message: "what this node can give is not known yet" },
    });
    const nodeAsIs: Node = { ...NODE, status: {} };
    assert.deepEqual(rejectionOf(asking({ cpu: "1" }), [], { node: undefined, nodeAsIs, mustDecide: true }), {
      reason: "OutOfpods",
      message: "Node didn't have enough resource: pods, requested: 1, used: 0, capacity: 0",
    });
    const sysctls = [{ name: "kernel.sem", value: "1" }];
    assert.equal(admissionOf(made({ securityContext: { sysctls } }), [], { node: undefined }).kind, "rejected");
  });

  test("[5.2] requests must fit beside those of other pods; the first shortage is reported in integer amounts", () => {
    const others = [asking({ cpu: "3500m", memory: "1Gi" }), asking({ cpu: "0.45" })];
    assert.deepEqual(rejectionOf(asking({ cpu: "100m" }), others), {
      reason: "OutOfcpu",
      message: "Node didn't have enough resource: cpu, requested: 100, used: 3950, capacity: 4000",
    });
    assert.equal(reasonOf(asking({ cpu: "50m" }), ...others), undefined);
    assert.deepEqual(rejectionOf(asking({ memory: "7.5Gi", cpu: "50m" }), others), {
      reason: "OutOfmemory",
      message:
        "Node didn't have enough resource: memory, requested: 8053063680, used: 1073741824, capacity: 8589934592",
    });
    assert.equal(reasonOf(asking({ "ephemeral-storage": "11Gi" })), "OutOfephemeral-storage");
    assert.equal(reasonOf(asking({ "hugepages-2Mi": "6Mi" })), "OutOfhugepages-2Mi");
    assert.equal(reasonOf(asking({ "hugepages-1Gi": "1Gi" })), "OutOfhugepages-1Gi");
    assert.equal(reasonOf(asking({ cpu: "9", memory: "90Gi", "ephemeral-storage": "90Gi" })), "OutOfcpu");
  });

  test("[5.2] a pod beyond the node's pod limit is rejected with OutOfpods, whatever it requests", () => {
    const five = Array.from({ length: 5 }, () => made());
    assert.deepEqual(rejectionOf(asking({ cpu: "9" }), five), {
      reason: "OutOfpods",
      message: "Node didn't have enough resource: pods, requested: 1, used: 5, capacity: 5",
    });
    assert.equal(reasonOf(made(), ...five.slice(1)), undefined);
  });

  test("[5.2] init containers, sidecars, pod-level resources and overhead count; unknown resources are ignored", () => {
    const init = (cpu: string, restartPolicy?: string) => ({
      name: "i",
      resources: { requests: { cpu } },
      ...(restartPolicy === undefined ? {} : { restartPolicy }),
    });
    const used = (pod: Pod) => /used: (\d+)/.exec(rejectionOf(asking({ cpu: "4" }), [pod])?.message ?? "")?.[1];
    assert.equal(used(asking({ cpu: "1" }, { initContainers: [init("2")] })), "2000");
    assert.equal(used(asking({ cpu: "1" }, { initContainers: [init("500m", "Always"), init("2")] })), "2500");
    assert.equal(used(asking({ cpu: "1" }, { overhead: { cpu: "250m" } })), "1250");
    assert.equal(used(asking({ cpu: "1" }, { resources: { requests: { cpu: "3" } } })), "3000");
    assert.equal(reasonOf(asking({ "example.com/gpu": "3" })), "OutOfexample.com/gpu");
    assert.equal(reasonOf(asking({ "example.com/gpu": "2" })), undefined);
    assert.equal(reasonOf(asking({ "cluster.example.com/licence": "7" })), undefined);
  });

  test("[5.3] a node selector or affinity that the known labels do not match is a label mismatch, not yet rejected", () => {
    const rejection = {
      reason: "NodeAffinity",
      message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    };
    assert.deepEqual(admissionOf(made({ nodeSelector: { zone: "b" } })), { kind: "labelMismatch", rejection });
    assert.equal(admissionOf(made({ nodeSelector: { zone: "a" } })).kind, "admitted");
    const affinity = (operator: string, key: string, ...values: readonly string[]) =>
      made({
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
            },
          },
        },
      });
    assert.equal(admissionOf(affinity("In", "zone", "b", "a")).kind, "admitted");
    assert.equal(admissionOf(affinity("Gt", "cores", "4")).kind, "admitted");
    assert.deepEqual(admissionOf(affinity("NotIn", "zone", "a")), { kind: "labelMismatch", rejection });
    assert.equal(admissionOf(made({ nodeSelector: { zone: "b" }, nodeName: "n2" })).kind, "rejected");
  });

  test("[5.3] another node's name or an untolerated NoExecute taint rejects a pod; a static pod ignores taints", () => {
    assert.deepEqual(rejectionOf(made({ nodeName: "n2" })), {
      reason: "NodeName",
      message: "Predicate NodeName failed: node(s) didn't match the requested node name",
    });
    assert.equal(reasonOf(made({ nodeName: "n1" })), undefined);
    assert.deepEqual(rejectionOf(made({ tolerations: [] })), {
      reason: "TaintToleration",
      message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    });
    for (const [toleration, isEnough] of [
      [{ operator: "Exists" }, true],
      [{ key: "dedicated", value: "db" }, true],
      [{ key: "dedicated", operator: "Equal", value: "web" }, false],
      [{ key: "dedicated", operator: "Exists", effect: "NoSchedule" }, false],
      [{ key: "busy", operator: "Exists" }, false],
      [{ key: "dedicated", operator: "Gt", value: "1" }, false],
    ] as const)
      assert.equal(reasonOf(made({ tolerations: [toleration] })) === undefined, isEnough, JSON.stringify(toleration));
    const isStatic = { annotations: { "kubernetes.io/config.source": "file" } };
    assert.equal(reasonOf(made({ tolerations: [] }, isStatic)), undefined);
  });

  test("[5.3] tolerations with Lt and Gt compare numbers when the gate is enabled", () => {
    const node = { ...NODE, spec: { taints: [{ key: "age", value: "5", effect: "NoExecute" }] } };
    const comparing = { node, gates: { podLevelResources: true, comparingTolerations: true } };
    const of = (operator: string, value: string) =>
      admissionOf(made({ tolerations: [{ key: "age", operator, value }] }), [], comparing).kind;
    assert.deepEqual(
      [of("Lt", "6"), of("Lt", "5"), of("Gt", "4"), of("Gt", "x")],
      ["admitted", "rejected", "admitted", "rejected"],
    );
  });

  test("[5.6] pressure rejects pods that are not critical; memory pressure alone spares memory requests and tolerations", () => {
    const memory = { pressure: { memory: true, disk: false, pid: false } };
    const disk = { pressure: { memory: false, disk: true, pid: false } };
    assert.deepEqual(rejectionOf(made(), [], memory), {
      reason: "Evicted",
      message: "The node had condition: [MemoryPressure]. ",
    });
    assert.equal(rejectionOf(asking({ memory: "1Mi" }), [], memory), undefined);
    const tolerating = made({
      tolerations: [...tolerations, { key: "node.kubernetes.io/memory-pressure", operator: "Exists" }],
    });
    assert.equal(rejectionOf(tolerating, [], memory), undefined);
    assert.equal(rejectionOf(asking({ memory: "1Mi" }), [], disk)?.message, "The node had condition: [DiskPressure]. ");
    assert.equal(
      rejectionOf(tolerating, [], { pressure: { memory: true, disk: true, pid: true } })?.message,
      "The node had condition: [MemoryPressure DiskPressure PIDPressure]. ",
    );
    assert.equal(rejectionOf(made({ priority: 2_000_000_000 }), [], disk), undefined);
  });

  test("[5.9] AppArmor, strict supplemental groups and pod-level resources are rejected on nodes without them", () => {
    const confined = made({ securityContext: { appArmorProfile: { type: "RuntimeDefault" } } });
    assert.deepEqual(rejectionOf(confined, [], { apparmor: false }), {
      reason: "AppArmor",
      message: "Cannot enforce AppArmor: AppArmor is not enabled on the host",
    });
    assert.equal(rejectionOf(confined), undefined);
    const unconfined = made({ securityContext: { appArmorProfile: { type: "Unconfined" } } });
    assert.equal(rejectionOf(unconfined, [], { apparmor: false }), undefined);
    const key = "container.apparmor.security.beta.kubernetes.io/c";
    const annotated = (value: string) => made({}, { annotations: { [key]: value } });
    assert.equal(rejectionOf(annotated("runtime/default"), [], { apparmor: false })?.reason, "AppArmor");
    assert.equal(rejectionOf(annotated("unconfined"), [], { apparmor: false }), undefined);
    assert.match(
      rejectionOf(annotated("localhost/ "))?.message ?? "",
      /^Cannot enforce AppArmor: invalid empty AppArmor profile name/,
    );
    const strict = made({ securityContext: { supplementalGroupsPolicy: "Strict" } });
    assert.deepEqual(rejectionOf(strict, [], { strictGroups: false }), {
      reason: "SupplementalGroupsPolicyNotSupported",
      message: "SupplementalGroupsPolicy=Strict is not supported in this node",
    });
    assert.equal(rejectionOf(strict), undefined);
    const whole = made({ resources: { limits: { memory: "1Gi" } } });
    const gates = { podLevelResources: false, comparingTolerations: false };
    assert.deepEqual(rejectionOf(whole, [], { gates }), {
      reason: "PodLevelResourcesNotSupported",
      message: "PodLevelResources feature gate is disabled",
    });
    assert.equal(rejectionOf(whole), undefined);
  });

  test("[5.10] a pod is rejected with all required features that the node does not declare", () => {
    const needy = made({
      hostNetwork: true,
      hostUsers: false,
      containers: [{ name: "c", restartPolicyRules: [{ action: "RestartAllContainers" }] }],
    });
    assert.deepEqual(rejectionOf(needy), {
      reason: "PodFeatureUnsupported",
      message:
        "Pod requires node features that are not available: RestartAllContainersOnContainerExits, UserNamespacesHostNetworkSupport",
    });
    const some = rejectionOf(needy, [], { declaredFeatures: ["RestartAllContainersOnContainerExits"] });
    assert.equal(some?.message, "Pod requires node features that are not available: UserNamespacesHostNetworkSupport");
    assert.notEqual(rejectionOf(needy, [], { declaredFeatures: undefined })?.reason, "PodFeatureUnsupported");
  });

  test("[5.11] a pod is rejected while the node shuts down", () => {
    assert.deepEqual(rejectionOf(made(), [], { isShuttingDown: true }), {
      reason: "NodeShutdown",
      message: "Pod was rejected as the node is shutting down.",
    });
  });

  test("[5.1] of several rejection reasons the first in the Go kubelet's order is reported", () => {
    const everything = made({
      securityContext: {
        sysctls: [{ name: "kernel.sem", value: "1" }],
        appArmorProfile: { type: "RuntimeDefault" },
        supplementalGroupsPolicy: "Strict",
      },
      containers: [{ name: "c", resources: { requests: { cpu: "9" } }, lifecycle: {} }],
      nodeSelector: { zone: "b" },
      os: { name: "windows" },
    });
    const bad: Partial<AdmissionContext> = {
      pressure: { memory: false, disk: true, pid: false },
      apparmor: false,
      strictGroups: false,
      isShuttingDown: true,
    };
    const first = (pod: Pod, context: Partial<AdmissionContext>) => rejectionOf(pod, [], context)?.reason;
    const { securityContext, os: _, ...rest } = everything.spec ?? { containers: [] };
    assert.equal(first(everything, bad), "Evicted");
    const calm = { ...bad, pressure: CONTEXT.pressure };
    assert.equal(first(everything, calm), "SysctlForbidden");
    const { sysctls: __, ...context } = securityContext ?? {};
    assert.equal(
      first(made({ ...rest, securityContext: context, os: { name: "windows" } }), calm),
      "PodOSNotSupported",
    );
    assert.equal(first(made({ ...rest, securityContext: context }), calm), "SupplementalGroupsPolicyNotSupported");
    const grouped = { ...calm, strictGroups: true };
    assert.equal(first(made({ ...rest, securityContext: context }), grouped), "OutOfcpu");
    const small = { ...rest, containers: [{ name: "c", lifecycle: {} }] };
    assert.equal(first(made({ ...small, securityContext: context }), grouped), "NodeAffinity");
    const placed = { ...small, nodeSelector: {} };
    assert.equal(first(made({ ...placed, securityContext: context }), grouped), "AppArmor");
    assert.equal(first(made(placed), grouped), "NodeShutdown");
  });

  test("a pod with resource claims or a gitRepo volume is rejected as NotSupported", () => {
    assert.equal(reasonOf(made({ resourceClaims: [{ name: "r" }] })), "NotSupported");
    // Never run git for a gitRepo volume: its hooks would run as root on the node (CVE-2024-10220, CVE-2025-1767).
    const gitRepo = { repository: "https://git.example/hooks.git" };
    assert.equal(reasonOf(made({ volumes: [{ name: "v", gitRepo }] })), "NotSupported");
  });
});
