/** The runtime's image store. Errors are those of the Runtime port. */
import type { FilesystemUsage, Image, ImageSpec, RegistryCredentials } from "../domain/runtime/image.ts";
import type { SandboxConfig } from "../domain/runtime/sandbox.ts";

export interface Images {
  /** All images, or those that `image` names. */
  listImages(filter: { readonly image?: ImageSpec }, signal: AbortSignal): Promise<readonly Image[]>;
  /** Undefined when the image is not there. */
  imageStatus(image: ImageSpec, signal: AbortSignal): Promise<Image | undefined>;
  /** Answers with the reference of what was pulled. Has no deadline of its own: a pull may take long and the caller decides. */
  pullImage(
    image: ImageSpec,
    options: { readonly credentials?: RegistryCredentials; readonly sandbox?: SandboxConfig },
    signal: AbortSignal,
  ): Promise<string>;
  /** Succeeds when the image is already gone. */
  removeImage(image: ImageSpec, signal: AbortSignal): Promise<void>;
  imageFilesystems(
    signal: AbortSignal,
  ): Promise<{ readonly images: readonly FilesystemUsage[]; readonly containers: readonly FilesystemUsage[] }>;
}
