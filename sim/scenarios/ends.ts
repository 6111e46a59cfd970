/** Checks of the final state of a scenario. Each returns sentences that say what is wrong. */
import type { Event, Pod, PodSpec } from "../../src/api/gen/core-v1.ts";
import { coreEvents, pods } from "../../src/api/resources.ts";
import { isJsonObject } from "../../src/base/json-equal.ts";
import { CONFIG_MIRROR } from "../../src/domain/pod/pod-identity.ts";
import { podDirectory } from "../../src/domain/pod/pod-names.ts";
import { volumeDirectory } from "../../src/domain/volumes/layout.ts";
import { kindOf } from "../fake-api-server/kinds.ts";
import type { ContainerRecord } from "../fake-runtime/records.ts";
import { ROOT } from "../volume-oracle.ts";
import { entryAt, textOf, visibleFiles } from "../workload/disk-view.ts";
import { filePluginOf, reportOf } from "../workload/file-volume-rules.ts";
import { pod as podOf } from "../workload/pod.ts";
import type { ObjectKind } from "../workload/self-describing-objects.ts";
import type { World } from "../world.ts";
import type { Stage } from "./scenario.ts";

const POD_KIND = kindOf(pods);

export const isRunning =
  (name: string) =>
  ({ pod: find }: Stage) => {
    const status = find(name)?.status;
    const ready = status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
    return status?.phase === "Running" && ready === true
      ? []
      : [`${name} is ${status?.phase ?? "gone"}, ready ${ready}`];
  };

export const isGone =
  (name: string) =>
  ({ pod: find, node }: Stage) => {
    const left = [...node.runtime.sandboxes.values()].filter(({ config }) => config.metadata.name === name).length;
    const object = find(name) === undefined ? [] : [`${name} is still there, ${find(name)?.status?.phase}`];
    return [...object, ...(left > 0 ? [`${left} sandboxes of ${name} are left`] : [])];
  };

export const endedWith =
  (name: string, phase: string, exitCode: number) =>
  ({ pod: find }: Stage) => {
    const status = find(name)?.status;
    const code = status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
    return status?.phase === phase && code === exitCode
      ? []
      : [`${name} is ${status?.phase} with ${code}, not ${phase} with ${exitCode}`];
  };

export const all =
  (...checks: readonly ((stage: Stage) => readonly string[])[]) =>
  (stage: Stage) =>
    checks.flatMap((check) => check(stage));

export const startsAre =
  (name: string, starts: number) =>
  ({ pod: find, oracle }: Stage) => {
    const seen = oracle.starts(find(name)?.metadata?.uid ?? "");
    return seen === starts ? [] : [`${name} was started ${seen} times, not ${starts}`];
  };

/** The node has no mount, directory or subPath left of a pod that has terminated or is gone. */
export const nothingIsLeft = ({ oracle, world }: Stage): readonly string[] =>
  oracle.volumes.left((uid) => {
    const pod = podOfUid(world, uid);
    if (pod === undefined) return "gone";
    return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed" ? "ended" : "lives";
  });

/** For a static pod, its mirror pod. */
function podOfUid(world: World, uid: string): Pod | undefined {
  for (const object of world.api.store.values(POD_KIND)) {
    const { metadata } = object as unknown as Pod;
    if (metadata?.uid === uid || metadata?.annotations?.[CONFIG_MIRROR] === uid) return object as unknown as Pod;
  }
  return undefined;
}

/** The running pod sees this version of the object in a volume of written files. */
export const shows =
  (podName: string, volumeName: string, kind: ObjectKind, object: string, version: number) =>
  ({ pod: find, node }: Stage): readonly string[] => {
    const pod = find(podName);
    const volume = pod?.spec?.volumes?.find(({ name }) => name === volumeName);
    const plugin = volume === undefined ? undefined : filePluginOf(volume);
    if (pod === undefined || plugin === undefined) return [`${podName} has no volume of files ${volumeName}`];
    const directory = volumeDirectory(podDirectory(ROOT, pod.metadata?.uid ?? ""), plugin, volumeName);
    const found = [...reportOf(kind, object, visibleFiles(node.files.disk, directory)).values()];
    const versions = [...new Set(found.map((reported) => reported.version))];
    const isRight = versions.length === 1 && versions[0] === version && found.length === found[0]?.keys;
    return isRight
      ? []
      : [`${podName}/${volumeName} shows ${found.length} keys of versions ${versions.join()}, not all of ${version}`];
  };

/** No Event with this reason was published. */
export const nobodyWasInformed =
  (reason: string) =>
  ({ world }: Stage): readonly string[] =>
    [...world.api.store.values(kindOf(coreEvents))]
      .map((event) => event as unknown as Event)
      .filter((event) => event.reason === reason)
      .map(({ message }) => `an event reported ${reason}: ${message}`);

/** The pod's token has not expired. */
export const tokenLives =
  (podName: string, volumeName: string) =>
  ({ pod: find, node, world }: Stage): readonly string[] => {
    const uid = find(podName)?.metadata?.uid ?? "";
    const file = entryAt(node.files.disk, `${volumeDirectory(podDirectory(ROOT, uid), "projected", volumeName)}/token`);
    if (file?.kind !== "file") return [`${podName} has no token`];
    const claims: unknown = JSON.parse(Buffer.from(textOf(file).split(".")[1] ?? "", "base64url").toString());
    const endsSeconds = isJsonObject(claims) ? Number(claims["exp"]) : Number.NaN;
    const leftMs = endsSeconds * 1_000 - world.api.wallMs();
    return leftMs > 0 ? [] : [`the token of ${podName} ended ${-leftMs} ms ago`];
  };

/** Creates a pod and remembers its UID for checks after the pod is gone. */
export function noted(
  name: string,
  spec: Partial<PodSpec>,
): { readonly step: (stage: Stage) => void; readonly uid: (stage: Stage) => string } {
  const uids = new WeakMap<object, string>();
  return {
    step: (stage) => void uids.set(stage.world, stage.create(podOf(name, spec))),
    uid: ({ world }) => uids.get(world) ?? "",
  };
}

export const named = (records: readonly ContainerRecord[], name: string): readonly ContainerRecord[] =>
  records.filter(({ config }) => config.metadata.name === name);

export const runsOf =
  (name: string, containerName: string, count: number) =>
  ({ oracle, pod: find }: Stage): readonly string[] => {
    const runs = named(oracle.records(find(name)?.metadata?.uid ?? ""), containerName).length;
    return runs === count ? [] : [`${containerName} of ${name} ran ${runs} times, not ${count}`];
  };

export const mirrorIs =
  (present: boolean) =>
  ({ pod: find }: Stage) =>
    (find("static-n1") !== undefined) === present ? [] : [`the mirror is ${present ? "missing" : "still there"}`];

export const staticRuns =
  (runs: boolean) =>
  ({ node }: Stage) => {
    const running = [...node.runtime.sandboxes.values()].filter(
      ({ config, state }) => state === "ready" && config.metadata.name === "static-n1",
    );
    return running.length === (runs ? 1 : 0) ? [] : [`${running.length} static sandboxes are ready`];
  };
