/**
 * The hash that shows whether a running container is the one that its spec describes. It is stored in an annotation of
 * the container, so every kubelet must compute the same value. It is FNV-1a over a dump of the bytes of a small JSON
 * text.
 */
import { fnv1a32 } from "../../base/fnv.ts";
import { goJson } from "../../base/go-json.ts";
import { utf8Bytes } from "../../base/utf8.ts";

export function containerHash(container: { readonly name: string; readonly image?: string }): string {
  const json = goJson({ image: container.image ?? "", name: container.name });
  return fnv1a32(utf8Bytes(`([]uint8)[${utf8Bytes(json).join(" ")}]`)).toString(16);
}
