/**
 * Alerts and tests of other projects look for upstream's event reasons. Every reason in the sources must be in
 * upstream's vocabulary or be listed here as our own. Reasons that no code emits yet are tracked by the ledger rows of
 * the features that will emit them.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { nodeOptions, nodeSnapshot } from "../../test/support/node-world.ts";
import { inRepository, repositoryRoot } from "../../tools/repository.ts";
import { updatedNode } from "../domain/node/node-status.ts";
import { RUNTIME_UNKNOWN } from "../domain/node/runtime-health.ts";

const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== "");

const OF_PODS = words(`
  Created Started Failed Killing Preempting BackOff ExceededGracePeriod FailedKillPod FailedCreatePodContainer NetworkNotReady
  Pulling Pulled InspectFailed ErrImageNeverPull Unhealthy ProbeWarning FailedSync FailedValidation FailedPostStartHook
  FailedPreStopHook LifecycleHTTPFallback FailedToRetrieveImagePullSecret SandboxChanged FailedCreatePodSandBox
  FailedPodSandBoxStatus FailedPrepareDynamicResources ResizeDeferred ResizeInfeasible ResizeStarted ResizeCompleted ResizeError
  FailedNodeDeclaredFeaturesCheck Evicted DNSConfigForming MissingClusterDNS HostIPsIPFamilyMismatch CertificateExpired
  CertificateOverdueForRefresh PossibleMemoryBackedVolumesOnDisk`);

const OF_NODES_AND_VOLUMES = words(`
  FailedMount FailedMapVolume FailedAttachVolume SuccessfulMountVolume AlreadyMountedVolume VolumeResizeFailed
  VolumeResizeSuccessful FileSystemResizeFailed FileSystemResizeSuccessful VolumePermissionChangeInProgress
  FailedMountOnFilesystemMismatch Starting KubeletSetupFailed NodeReady NodeNotReady NodeSchedulable NodeNotSchedulable
  NodeHasSufficientMemory NodeHasInsufficientMemory NodeHasDiskPressure NodeHasNoDiskPressure NodeHasSufficientPID
  NodeHasInsufficientPID Rebooted Shutdown ContainerGCFailed ImageGCFailed FreeDiskSpaceFailed InvalidDiskCapacity InvalidImageID
  FailedNodeAllocatableEnforcement NodeAllocatableEnforced EvictionThresholdMet SystemOOM CheckLimitsForResolvConf CgroupV1`);

/** Reasons of admission checks; the event of a rejection has the same reason. */
const OF_ADMISSION = words(`
  AppArmor Evicted NodePorts NodeShutdown PodFeatureUnsupported PodLevelResourcesNotSupported PodOSNotSupported
  PodOSSelectorNodeLabelDoesNotMatch SupplementalGroupsPolicyNotSupported SysctlForbidden UnexpectedAdmissionError`);

/**
 * Our own reasons: a pod needs an unsupported feature (removed once all are implemented); a termination hangs; an
 * unresponsive mount was lazily unmounted; a pod waits for admission.
 */
const OURS = words(
  "NotSupported TerminationBlocked VolumeUnresponsive WaitingForNode WaitingForPreemption WaitingForRuntimeClass",
);

const sources = globSync("src/**/*.ts", { cwd: repositoryRoot })
  .filter((file) => !file.endsWith(".test.ts") && !file.includes("/gen/"))
  .map((file) => readFileSync(inRepository(file), "utf8"))
  .filter((source) => /events|NodeEvent|[Ee]mit|Rejection|PREEMPTED/.test(source));

/**
 * All places where a reason can stand in an event: after its type, before its message, or as a constant.
 */
const PLACES = [
  /"(?:Normal|Warning)",\s*"([A-Z]\w+)"/g,
  /\breason: "([A-Z]\w+)",\s*message/g,
  /"(Node(?:Not)?Schedulable)"/g,
  /^const (?:ENFORCED|FAILED) = "([A-Z]\w+)"/gm,
];
/** Reasons in the same form that are not event reasons: of a waiting container, of notes that only the journal gets. */
const NO_EVENTS = new Set(["CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff", "ContainerCreating", "Resumed"]);

const reported = new Set(
  sources.flatMap((source) => PLACES.flatMap((place) => [...source.matchAll(place)].map(([, reason]) => reason ?? ""))),
);

test("[23.2] [23.3] every event reason in the sources is upstream's or listed as our own", () => {
  const known = new Set([...OF_PODS, ...OF_NODES_AND_VOLUMES, ...OF_ADMISSION, ...OURS, ...NO_EVENTS]);
  assert.deepEqual(
    [...reported].filter((reason) => !known.has(reason)),
    [],
  );
});

test("[23.2] reasons of admission and preemption occur in the sources", () => {
  const wanted = words("ExceededGracePeriod FailedNodeDeclaredFeaturesCheck Preempting SysctlForbidden NodeShutdown");
  assert.deepEqual(
    wanted.filter((reason) => !reported.has(reason)),
    [],
  );
});

test("[23.2] reasons of containers, images, sandboxes and the network occur in the sources", () => {
  const wanted =
    words(`Created Started Failed Killing BackOff NetworkNotReady Pulling Pulled InspectFailed ErrImageNeverPull
    FailedValidation SandboxChanged FailedCreatePodSandBox Unhealthy ProbeWarning`);
  assert.deepEqual(
    wanted.filter((reason) => !reported.has(reason)),
    [],
  );
});

test("[23.3] reasons of the node's start, schedulability, reboot and limits occur in the sources", () => {
  const wanted =
    words(`Starting KubeletSetupFailed NodeSchedulable NodeNotSchedulable Rebooted FailedNodeAllocatableEnforcement
    NodeAllocatableEnforced CgroupV1`);
  assert.deepEqual(
    wanted.filter((reason) => !reported.has(reason)),
    [],
  );
});

test("[3.16] [23.3] every node condition that changes and returns emits its event", () => {
  const bad = { pressure: { memory: true, disk: true, pid: true }, runtime: RUNTIME_UNKNOWN };
  const first = updatedNode({}, nodeSnapshot(), nodeOptions());
  const second = updatedNode(first.node, nodeSnapshot(bad), nodeOptions());
  const third = updatedNode(second.node, nodeSnapshot(), nodeOptions());
  const reasons = [second, third].map(({ events }) => events.map(({ reason, message }) => `${reason}: ${message}`));
  const line = (reason: string) => `${reason}: Node n1 status is now: ${reason}`;
  assert.deepEqual(reasons, [
    words("NodeHasInsufficientMemory NodeHasDiskPressure NodeHasInsufficientPID NodeNotReady").map(line),
    words("NodeHasSufficientMemory NodeHasNoDiskPressure NodeHasSufficientPID NodeReady").map(line),
  ]);
});
