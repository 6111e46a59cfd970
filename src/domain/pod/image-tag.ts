/** The tag of an image reference, as far as the default pull policy depends on it. */

const component = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const host =
  "(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?";
const reference = new RegExp(
  `^(?:${host}/)?${component}(?:/${component})*(?::(?<tag>[\\w][\\w.-]{0,127}))?(?<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`,
);

/** "latest" also where neither tag nor digest is given; undefined where there is none, or the reference is malformed. */
function tagOf(image: string): string | undefined {
  const match = reference.exec(image);
  if (match === null) return undefined;
  const { tag, digest } = match.groups ?? {};
  return tag ?? (digest === undefined ? "latest" : undefined);
}

export const defaultImagePullPolicy = (image: string) => (tagOf(image) === "latest" ? "Always" : "IfNotPresent");
