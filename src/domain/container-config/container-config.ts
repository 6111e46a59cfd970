/** Builds the CRI configuration of a container. Its labels and annotations are the contract with the next kubelet. */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { utf8Text } from "../../base/utf8.ts";
import { containerLogPath, podNameOfObject } from "../pod/pod-names.ts";
import type { ContainerConfig, ContainerMount, EnvironmentVariable } from "../runtime/container.ts";
import { containerHash } from "./container-hash.ts";
import type { ContainerArgv, ContainerInputs } from "./container-inputs.ts";
import {
  CONTAINER_HASH,
  CONTAINER_NAME_LABEL,
  CONTAINER_PORTS,
  POD_DELETION_GRACE,
  POD_NAME_LABEL,
  POD_NAMESPACE_LABEL,
  POD_TERMINATION_GRACE,
  POD_UID_LABEL,
  PRE_STOP_HANDLER,
  RESTART_COUNT,
  TERMINATION_MESSAGE_PATH,
  TERMINATION_MESSAGE_POLICY,
} from "./cri-keys.ts";
import { expand } from "./environment/expand.ts";
import { containerSecurity, type GivenIdentity, type SecuritySettings } from "./security-context.ts";

export interface ContainerSettings {
  readonly restartCount: number;
  /** The image reference that the pull returned. */
  readonly imageRef: string;
  readonly inputs: ContainerInputs;
  /** The container whose PID namespace to join; undefined: the container's own, or the one that its pod shares. */
  readonly targetId?: string | undefined;
  readonly security: SecuritySettings;
  readonly identity: GivenIdentity;
  /** Whether a container may set its stop signal (the gate ContainerStopSignals). */
  readonly stopSignals: boolean;
  /** Whether the node labels files for SELinux; if not, mounts request no relabeling. */
  readonly selinux: boolean;
}

/** "noText": an argument would contain bytes of a Secret that are not valid UTF-8, which the CRI cannot carry. */
export type CommandWords =
  | ({ readonly kind: "argv" } & ContainerArgv)
  | { readonly kind: "noText"; readonly message: string };

export function commandOf(
  { command = [], args = [] }: Container,
  environment: readonly EnvironmentVariable[],
): CommandWords {
  const values = new Map(environment.map(({ name, value }) => [name, value]));
  const expanded = (words: readonly string[]) =>
    words.map((word) => (word.includes("$") ? utf8Text(expand(word, (name) => values.get(name))) : word));
  const argv = { command: expanded(command), args: expanded(args) };
  if (!allText(argv.command) || !allText(argv.args)) {
    return { kind: "noText", message: "grpc: error while marshaling: string field contains invalid UTF-8" };
  }
  return { kind: "argv", command: argv.command, args: argv.args };
}

const allText = (words: readonly (string | undefined)[]): words is readonly string[] =>
  words.every((word) => word !== undefined);

export function containerConfig(pod: Pod, container: Container, settings: ContainerSettings): ContainerConfig {
  const { restartCount, imageRef, inputs, security, identity, targetId } = settings;
  const { environment, argv, imageUser, resources } = inputs;
  const stopSignal = settings.stopSignals ? container.lifecycle?.stopSignal : undefined;
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: imageRef, userSpecifiedImage: container.image ?? "" },
    command: argv.command,
    args: argv.args,
    workingDirectory: container.workingDir ?? "",
    environment,
    mounts: mounts(settings),
    labels: labels(pod, container),
    annotations: annotations(pod, container, restartCount),
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    resources,
    security: containerSecurity(pod, container, { ...security, ...identity, imageUser, targetId }),
    ...(stopSignal === undefined ? {} : { stopSignal }),
  };
}

function mounts({ inputs, selinux, identity }: ContainerSettings): readonly ContainerMount[] {
  const labelled = selinux ? inputs.mounts : inputs.mounts.map((mount) => ({ ...mount, selinuxRelabel: false }));
  const { uids, gids } = identity.users;
  // ID-mapped mounts keep file owners on the node; within the pod, the files appear as owned by the pod's users.
  return uids.length === 0 ? labelled : labelled.map((mount) => ({ ...mount, uidMappings: uids, gidMappings: gids }));
}

function labels(pod: Pod, container: Container): Readonly<Record<string, string>> {
  const { name, namespace, uid } = podNameOfObject(pod);
  return {
    [CONTAINER_NAME_LABEL]: container.name,
    [POD_NAME_LABEL]: name,
    [POD_NAMESPACE_LABEL]: namespace,
    [POD_UID_LABEL]: uid,
  };
}

function annotations(pod: Pod, container: Container, restartCount: number): Readonly<Record<string, string>> {
  const preStop = container.lifecycle?.preStop;
  const deletionGrace = pod.metadata?.deletionGracePeriodSeconds;
  const grace = pod.spec?.terminationGracePeriodSeconds;
  return {
    [CONTAINER_HASH]: containerHash(container),
    [RESTART_COUNT]: String(restartCount),
    [TERMINATION_MESSAGE_PATH]: container.terminationMessagePath ?? "",
    [TERMINATION_MESSAGE_POLICY]: container.terminationMessagePolicy ?? "",
    ...(deletionGrace === undefined ? {} : { [POD_DELETION_GRACE]: String(deletionGrace) }),
    ...(grace === undefined ? {} : { [POD_TERMINATION_GRACE]: String(grace) }),
    ...(preStop === undefined ? {} : { [PRE_STOP_HANDLER]: JSON.stringify(preStop) }),
    ...((container.ports ?? []).length === 0 ? {} : { [CONTAINER_PORTS]: JSON.stringify(container.ports) }),
  };
}
