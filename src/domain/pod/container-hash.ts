/**
 * The hash by which a running container is known to be the one its spec asks for. It stands in an annotation of the container, so
 * it must be the same whichever kubelet wrote it: FNV-1a over a dump of the bytes of a small JSON text.
 */
import { fnv1a32 } from "../../base/fnv.ts";
import { utf8Bytes } from "../../base/utf8.ts";

export function containerHash(container: { readonly name: string; readonly image?: string }): string {
  const json = escapedJson({ image: container.image ?? "", name: container.name });
  return fnv1a32(utf8Bytes(`([]uint8)[${utf8Bytes(json).join(" ")}]`)).toString(16);
}

/** As the Go encoder writes it: safe inside HTML and JavaScript. */
const escapedJson = (value: unknown) =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
