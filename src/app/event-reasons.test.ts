/**
 * The reasons of our events are those that alerts and tests of others look for: every one that the sources tell is in upstream's
 * vocabulary, or stands here as our own. What is told nowhere yet is counted by the rows of the parts that will tell it.
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

/** An admission check's, which the event of a rejection has. */
const OF_ADMISSION = words(`
  AppArmor Evicted NodePorts NodeShutdown PodFeatureUnsupported PodLevelResourcesNotSupported PodOSNotSupported
  PodOSSelectorNodeLabelDoesNotMatch SupplementalGroupsPolicyNotSupported SysctlForbidden UnexpectedAdmissionError`);

/** Of a pod that asks for what is not built yet, gone when all is; of an end that hangs; of a mount that was let go of because it gave no answer; of pods that wait to be taken. */
const OURS = words(
  "NotSupported TerminationBlocked VolumeUnresponsive WaitingForNode WaitingForPreemption WaitingForRuntimeClass",
);

const sources = globSync("src/**/*.ts", { cwd: repositoryRoot })
  .filter((file) => !file.endsWith(".test.ts") && !file.includes("/gen/"))
  .map((file) => readFileSync(inRepository(file), "utf8"))
  .filter((source) => /events|NodeEvent|tell|Rejection|PREEMPTED/.test(source));

/** After its type, before its message, as the argument of a helper, or as a constant: wherever a reason stands in an event. */
const PLACES = [
  /"(?:Normal|Warning)",\s*"([A-Z]\w+)"/g,
  /\breason: "([A-Z]\w+)",\s*message/g,
  /\btellPod\(\w+, \w+, "([A-Z]\w+)"/g,
  /"(Node(?:Not)?Schedulable)"/g,
  /^const (?:ENFORCED|FAILED) = "([A-Z]\w+)"/gm,
];
/** Reasons of other things that stand in the same form: of a container that waits, of a condition, of what only the journal hears. */
const NO_EVENTS = new Set([
  "CrashLoopBackOff",
  "ErrImagePull",
  "ImagePullBackOff",
  "ContainerCreating",
  "TerminationByKubelet",
  "Resumed",
]);

const told = new Set(
  sources.flatMap((source) => PLACES.flatMap((place) => [...source.matchAll(place)].map(([, reason]) => reason ?? ""))),
);

test("[23.2] [23.3] every reason that is told is one of upstream's, or known as our own", () => {
  const known = new Set([...OF_PODS, ...OF_NODES_AND_VOLUMES, ...OF_ADMISSION, ...OURS, ...NO_EVENTS]);
  assert.deepEqual(
    [...told].filter((reason) => !known.has(reason)),
    [],
  );
});

test("[23.2] the reasons of what is built are told: of admission and of pods that end for others", () => {
  const wanted = words("ExceededGracePeriod FailedNodeDeclaredFeaturesCheck Preempting SysctlForbidden NodeShutdown");
  assert.deepEqual(
    wanted.filter((reason) => !told.has(reason)),
    [],
  );
});

test("[23.2] the reasons of what is built are told: of containers, images, sandboxes and the network", () => {
  const wanted =
    words(`Created Started Failed Killing BackOff NetworkNotReady Pulling Pulled InspectFailed ErrImageNeverPull
    FailedValidation SandboxChanged FailedCreatePodSandBox Unhealthy ProbeWarning`);
  assert.deepEqual(
    wanted.filter((reason) => !told.has(reason)),
    [],
  );
});

test("[23.3] the reasons of what is built are told: of the node's start, schedulability, reboot and limits", () => {
  const wanted =
    words(`Starting KubeletSetupFailed NodeSchedulable NodeNotSchedulable Rebooted FailedNodeAllocatableEnforcement
    NodeAllocatableEnforced CgroupV1`);
  assert.deepEqual(
    wanted.filter((reason) => !told.has(reason)),
    [],
  );
});

test("[3.16] [23.3] a node whose every condition goes and comes back tells each by its reason", () => {
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
