/** The contributors to a container's configuration, in order. */

import { HOSTS_PATH } from "../../domain/container-config/hosts-file.ts";
import { whyNotNonRoot } from "../../domain/container-config/run-as-non-root.ts";
import type { ImageUser } from "../../domain/container-config/security-context.ts";
import { unusableProfile } from "../../domain/container-config/security-profiles.ts";
import type { PresentImage } from "../../domain/images/image-answer.ts";
import { podDirectory, podLogDirectory, podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { ContainerMount } from "../../domain/runtime/container.ts";
import type { ContainerContributor, ContainerStart, PodWork } from "./container-creation.ts";
import { environment } from "./make-environment.ts";
import { volumeMounts } from "./prepare-mounts.ts";
import { StartFailure } from "./start-failure.ts";
import { writeHostsFile } from "./write-hosts-file.ts";

const ownDirectory = ({ pod, containerSpec }: ContainerStart, { settings }: PodWork) =>
  `${podDirectory(settings.rootDir, podNameOfObject(pod).uid)}/containers/${containerSpec.container.name}`;

const mounted = (hostPath: string, containerPath: string): ContainerMount => ({
  hostPath,
  containerPath,
  selinuxRelabel: true,
});

const directories: ContainerContributor = async (creation, _gathered, work) => {
  const { files } = work.ports;
  const logs = podLogDirectory(work.settings.podLogsDir, podNameOfObject(creation.pod));
  await files.makeDirectory(`${logs}/${creation.containerSpec.container.name}`, 0o755);
  await files.makeDirectory(ownDirectory(creation, work), 0o750);
  return {};
};

const hostsFile: ContainerContributor = async ({ pod, containerSpec, network }, _gathered, { ports, settings }) => {
  const path = await writeHostsFile(pod, containerSpec.container, network.podIps, ports.files, settings);
  return path === undefined ? {} : { mounts: [mounted(path, HOSTS_PATH)] };
};

/**
 * Rejects an image whose user is root or unknown if the container must not run as root, and a security profile that the
 * node lacks.
 */
const user: ContainerContributor = async ({ pod, containerSpec: { container }, image }) => {
  const imageUser = userOf(image.image);
  const unsafe = whyNotNonRoot(pod, container, imageUser) ?? unusableProfile(pod, container);
  if (unsafe !== undefined) throw new StartFailure("CreateContainerConfigError", unsafe);
  return { imageUser };
};

const userOf = (image: PresentImage["image"]): ImageUser => ({
  ...(image?.uid === undefined ? {} : { uid: image.uid }),
  ...(image?.username === undefined ? {} : { username: image.username }),
});

/** Each run of a container gets its own termination message file. */
const terminationMessage: ContainerContributor = async (creation, _gathered, work) => {
  const { files, random } = work.ports;
  const file = `${ownDirectory(creation, work)}/${random.uuid().slice(0, 8)}`;
  await files.makeFile(file, 0o666);
  const path = creation.containerSpec.container.terminationMessagePath ?? "";
  return path === "" ? {} : { mounts: [mounted(file, path)] };
};

const resources: ContainerContributor = async ({ pod, allocation, containerSpec }, _gathered, { settings }) => ({
  resources: settings.resources.containerResources(pod, allocation, containerSpec.container.name),
});

export const CONTAINER_CONTRIBUTORS: readonly ContainerContributor[] = [
  environment,
  volumeMounts,
  directories,
  hostsFile,
  user,
  terminationMessage,
  resources,
];
