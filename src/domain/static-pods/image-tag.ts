/** The pull policy of an image for which none is written: "latest" may have moved on, also where it is only meant. */
import { parseImageName } from "../images/image-name.ts";

export function defaultImagePullPolicy(image: string): "Always" | "IfNotPresent" {
  const parsed = parseImageName(image);
  if (parsed.kind === "invalid") return "IfNotPresent";
  const { tag, digest } = parsed.name;
  return tag === "latest" || (tag === undefined && digest === undefined) ? "Always" : "IfNotPresent";
}
