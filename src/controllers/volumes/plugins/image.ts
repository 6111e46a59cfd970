/**
 * The files of an image. The worker pulls the image when the first container that mounts it starts. The runtime mounts
 * the image, so there is no path.
 */
import type { VolumePlugin } from "../plugin.ts";

export const imagePlugin: VolumePlugin = {
  name: "image",
  sources: ["image"],
  persistentSources: [],
  content: "elsewhere",
  holdsFiles: true,
  ownsMount: () => false,
  plan: () => ({
    kind: "planned",
    setUp: async () => ({ path: "", readOnly: true, selinuxRelabel: true, measured: undefined }),
  }),
};
