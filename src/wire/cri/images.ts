/**
 * The image service: list, inspect, pull, remove, file systems. Registry credentials are sent to the runtime and appear
 * nowhere else.
 */
import type { ImageSpec, RegistryCredentials } from "../../domain/runtime/image.ts";
import type { Images } from "../../ports/images.ts";
import { isRuntimeError, RuntimeError } from "../../ports/runtime-error.ts";
import { type Caller, call, list, NO_LIMIT, nothing, unlessGone, withLimit } from "./caller.ts";
import { ImageService } from "./gen/api_pb.js";
import { nonEmpty } from "./parse.ts";
import { withoutSecrets } from "./secrets.ts";
import { fromFilesystem, fromImage, toAuth, toImageSpec } from "./translate-image.ts";
import { toSandboxConfig } from "./translate-sandbox.ts";

const rpc = ImageService.method;

export function imageStore(caller: Caller): Images {
  return {
    listImages: ({ image }, signal) => {
      const request = { ...(image && { filter: { image: toImageSpec(image) } }) };
      return list(
        caller,
        {
          unary: rpc.listImages,
          unaryRequest: request,
          unaryItems: (answer) => answer.images,
          stream: rpc.streamImages,
          streamRequest: request,
          streamItems: (part) => part.images,
          translate: fromImage,
          idOf: ({ id }) => id,
        },
        signal,
      );
    },

    imageStatus: async (image, signal) => {
      try {
        const request = { image: toImageSpec(image) };
        return await call(
          caller,
          rpc.imageStatus,
          request,
          signal,
          (answer) => answer.image && fromImage(answer.image),
        );
      } catch (error) {
        if (isRuntimeError(error, "notFound")) return undefined;
        throw error;
      }
    },

    pullImage: async (image, { credentials, sandbox }, signal) => {
      const request = {
        image: toImageSpec(image),
        ...(credentials && { auth: toAuth(credentials) }),
        ...(sandbox && { sandboxConfig: toSandboxConfig(sandbox, "PullImage") }),
      };
      try {
        return await call(withLimit(caller, NO_LIMIT), rpc.pullImage, request, signal, reference);
      } catch (error) {
        throw isRuntimeError(error) ? redacted(error, credentials) : error;
      }
    },

    removeImage: (image: ImageSpec, signal) =>
      unlessGone(call(caller, rpc.removeImage, { image: toImageSpec(image) }, signal, nothing)),

    imageFilesystems: (signal) =>
      call(caller, rpc.imageFsInfo, {}, signal, (answer) => ({
        images: answer.imageFilesystems.map(fromFilesystem),
        containers: answer.containerFilesystems.map(fromFilesystem),
      })),
  };
}

const reference = ({ imageRef }: { readonly imageRef: string }) => nonEmpty(imageRef, "the pulled image's reference");

/** A registry or runtime may quote what it was sent. */
const redacted = ({ operation, code, detail }: RuntimeError, credentials: RegistryCredentials | undefined) =>
  new RuntimeError(operation, code, withoutSecrets(detail, credentials));
