import type { MutantArea } from "../mutant.ts";

const SUITE = "resize";

export const RESIZE: MutantArea = {
  area: "resize",
  mutants: [
    {
      name: "events about a resize leave sidecars out",
      file: "src/domain/resize/texts.ts",
      find: "    ...(init.length === 0 ? {} : { initContainers: init }),\n",
      replace: "",
      suite: SUITE,
      cases: "^sidecar$",
      tests: " sidecar:",
    },
    {
      name: "containers that get more are updated before those that get less",
      file: "src/domain/resize/actuation.ts",
      find: "[...all.filter(({ isLess }) => isLess), ...all.filter(({ isLess }) => !isLess)]",
      replace: "[...all.filter(({ isLess }) => !isLess), ...all.filter(({ isLess }) => isLess)]",
      suite: SUITE,
      cases: "^one-up-one-down$",
      tests: " one-up-one-down:",
    },
    {
      name: "an update of the memory does not limit memory and swap together",
      file: "src/domain/resources/container-resources.ts",
      find: "return { ...resources, memorySwapLimitBytes: resources.memoryLimitBytes };",
      replace: "return resources;",
      suite: SUITE,
      cases: "^memory-down$",
      tests: " memory-down:",
    },
    {
      name: "the event about a deferred resize does not say why it waits",
      file: "src/domain/resize/texts.ts",
      find: "`Pod resize ${reason}: ${summary(desired, generation, error)}`",
      replace: "`Pod resize ${reason}: ${summary(desired, generation)}`",
      suite: SUITE,
      // The other cases hold the CPU that `too-much-now` lacks.
      cases: "^(?:too-much-now|cpu-up|guaranteed|one-up-one-down)$",
      tests: " too-much-now:",
    },
    {
      name: "a container is killed for a resize as if its pod ended",
      file: "src/controllers/pod-workers/stop-containers.ts",
      find: "return `Container ${name} resize requires restart`;",
      replace: "return `Stopping container ${name}`;",
      suite: SUITE,
      cases: "^restart-for-memory$",
      tests: " restart-for-memory:",
    },
  ],
};
