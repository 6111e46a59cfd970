/** A container as the runtime takes it. Labels and annotations are the contract the next kubelet goes by. */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import type { ContainerConfig, ContainerMount } from "../runtime/container.ts";
import type { LinuxResources } from "../runtime/resources.ts";
import { containerHash } from "./container-hash.ts";
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
import { containerLogPath, podNameOfObject } from "./pod-names.ts";
import { containerSecurity, type ImageUser } from "./security-context.ts";

export interface ContainerSettings {
  readonly restartCount: number;
  /** What the pull answered with. */
  readonly imageRef: string;
  readonly imageUser: ImageUser;
  readonly resources: LinuxResources;
  readonly seccompDefault: boolean;
  /** The file on the node that receives the container's last words; undefined: it gets none. */
  readonly terminationMessageFile: string | undefined;
}

export function containerConfig(pod: Pod, container: Container, settings: ContainerSettings): ContainerConfig {
  const { restartCount, imageRef, imageUser, resources, seccompDefault } = settings;
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: imageRef, userSpecifiedImage: container.image ?? "" },
    command: (container.command ?? []).map(unescaped),
    args: (container.args ?? []).map(unescaped),
    workingDirectory: container.workingDir ?? "",
    mounts: mounts(container, settings),
    labels: labels(pod, container),
    annotations: annotations(pod, container, restartCount),
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    resources,
    security: containerSecurity(pod, container, { seccompDefault, imageUser }),
  };
}

/** A doubled dollar stands for one. References to variables are refused at admission as long as there are none. */
const unescaped = (word: string): string => word.replaceAll("$$", () => "$");

function mounts(container: Container, { terminationMessageFile }: ContainerSettings): readonly ContainerMount[] {
  const path = container.terminationMessagePath;
  if (terminationMessageFile === undefined || path === undefined || path === "") return [];
  return [{ hostPath: terminationMessageFile, containerPath: path, selinuxRelabel: true }];
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
