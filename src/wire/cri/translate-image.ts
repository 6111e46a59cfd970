/** Converts images to and from CRI. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FilesystemUsage, Image, ImageSpec, RegistryCredentials } from "../../domain/runtime/image.ts";
import type {
  AuthConfigSchema,
  FilesystemUsage as FilesystemUsageMessage,
  Image as ImageMessage,
  ImageSpec as ImageSpecMessage,
  ImageSpecSchema,
} from "./gen/api_pb.js";
import { nonEmpty, present, required, wallNs } from "./parse.ts";

export function toImageSpec(from: ImageSpec): MessageInitShape<typeof ImageSpecSchema> {
  return {
    image: from.image,
    annotations: { ...from.annotations },
    userSpecifiedImage: from.userSpecifiedImage ?? "",
    runtimeHandler: from.runtimeHandler ?? "",
    imageRef: from.imageRef ?? "",
  };
}

export function fromImageSpec(from: ImageSpecMessage): ImageSpec {
  return present({
    image: from.image,
    annotations: Object.keys(from.annotations).length === 0 ? undefined : from.annotations,
    userSpecifiedImage: from.userSpecifiedImage || undefined,
    runtimeHandler: from.runtimeHandler || undefined,
    imageRef: from.imageRef || undefined,
  });
}

export function toAuth(from: RegistryCredentials): MessageInitShape<typeof AuthConfigSchema> {
  return {
    username: from.username ?? "",
    password: from.password ?? "",
    auth: from.auth ?? "",
    serverAddress: from.serverAddress ?? "",
    identityToken: from.identityToken ?? "",
    registryToken: from.registryToken ?? "",
  };
}

export function fromImage(from: ImageMessage): Image {
  return present({
    id: nonEmpty(from.id, "an image's id"),
    tags: from.repoTags,
    digests: from.repoDigests,
    sizeBytes: from.size,
    uid: from.uid?.value,
    username: from.username || undefined,
    pinned: from.pinned,
    spec: from.spec && fromImageSpec(from.spec),
  });
}

export function fromFilesystem(from: FilesystemUsageMessage): FilesystemUsage {
  const { mountpoint } = required(from.fsId, "a filesystem's mountpoint");
  return present({
    wallNs: wallNs(from.timestamp),
    mountpoint,
    usedBytes: from.usedBytes?.value,
    inodesUsed: from.inodesUsed?.value,
  });
}
