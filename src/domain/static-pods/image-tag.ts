/** The default pull policy of an image. The tag "latest" may have moved, also if it is only implied. */
import { parseImageName } from "../images/image-name.ts";

export function defaultImagePullPolicy(image: string): "Always" | "IfNotPresent" {
  const parsed = parseImageName(image);
  if (parsed.kind === "invalid") return "IfNotPresent";
  const { tag, digest } = parsed.name;
  return tag === "latest" || (tag === undefined && digest === undefined) ? "Always" : "IfNotPresent";
}
