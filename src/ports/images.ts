/** The runtime's image store. Calls fail with the errors of the Runtime port. */
import type { FilesystemUsage, Image, ImageSpec, RegistryCredentials } from "../domain/runtime/image.ts";
import type { SandboxConfig } from "../domain/runtime/sandbox.ts";

export interface Images {
  /** Lists all images, or those that match `image`. */
  listImages(filter: { readonly image?: ImageSpec }, signal: AbortSignal): Promise<readonly Image[]>;
  /** Undefined if the image does not exist. */
  imageStatus(image: ImageSpec, signal: AbortSignal): Promise<Image | undefined>;
  /** Returns the reference of the pulled image. It has no deadline: pulls may take long, and the caller decides. */
  pullImage(
    image: ImageSpec,
    options: { readonly credentials?: RegistryCredentials; readonly sandbox?: SandboxConfig },
    signal: AbortSignal,
  ): Promise<string>;
  /** Succeeds if the image does not exist. */
  removeImage(image: ImageSpec, signal: AbortSignal): Promise<void>;
  imageFilesystems(
    signal: AbortSignal,
  ): Promise<{ readonly images: readonly FilesystemUsage[]; readonly containers: readonly FilesystemUsage[] }>;
}
