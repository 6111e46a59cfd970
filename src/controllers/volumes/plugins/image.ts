/** The files of an image. The worker pulls it when the first container that mounts it starts, and the runtime mounts it: there is no path. */
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
