/**
 * Replaces the digests of the test clusters' busybox image by names. The image is built around the machine's own
 * busybox, so its digests differ from machine to machine, and recorded answers use the names instead.
 */
import { buildImage } from "../../tools/oci.ts";
import { BUSYBOX_CONFIG, busyboxLayer } from "../cluster/image-pieces.ts";

const busybox = buildImage({ names: [], layers: [await busyboxLayer("/bin/busybox")], config: BUSYBOX_CONFIG });

const NAMES: ReadonlyMap<string, string> = new Map([
  [busybox.manifest.digest, "<digest of busybox>"],
  [busybox.blobs[0]?.digest ?? "", "<id of busybox>"],
]);

/** An unknown digest is kept, and so differs from every recorded answer. */
export const withImageNames = (text: string): string =>
  text.replace(/\bsha256:[0-9a-f]{64}\b/g, (digest) => NAMES.get(digest) ?? digest);
