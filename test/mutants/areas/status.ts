import type { MutantArea } from "../mutant.ts";

const SUITE = "roles-differential";

export const STATUS: MutantArea = {
  area: "status",
  mutants: [
    {
      name: "the end of the log is the message of a container that succeeded, not of one that failed",
      file: "src/domain/container-config/termination-message.ts",
      find: 'policy === "FallbackToLogsOnError" && exitCode !== 0 && message === ""',
      replace: 'policy === "FallbackToLogsOnError" && exitCode === 0 && message === ""',
      suite: SUITE,
      cases: "^last-words-of-the-log$",
      tests: " last-words-of-the-log:",
    },
    {
      name: "conditions lack the generation they are about",
      file: "src/domain/pod-status/conditions.ts",
      find: "generation === undefined || type === ALL_RESTARTING ? {} : { observedGeneration: generation }",
      replace: "({})",
      suite: SUITE,
      cases: "^memory-burstable$",
      tests: " memory-burstable:",
    },
    {
      name: "containers are published in the order of the spec",
      file: "src/domain/pod-status/container-statuses.ts",
      find: "list(regularContainers(spec), previous.containerStatuses).sort(byName)",
      replace: "list(regularContainers(spec), previous.containerStatuses)",
      suite: SUITE,
      cases: "^names-out-of-order$",
      tests: " names-out-of-order:",
    },
    {
      name: "the message about a missing readiness gate has no full stop",
      file: "src/domain/pod-status/conditions.ts",
      find: "corresponding condition of pod readiness gate ${name} does not exist.",
      replace: "corresponding condition of pod readiness gate ${name} does not exist",
      suite: SUITE,
      cases: "^gate-closed$",
      tests: " gate-closed:",
    },
    {
      name: "allocated resources of containers are not published",
      file: "src/domain/pod-status/container-status.ts",
      find: "    ...(resources.requests === undefined ? {} : { allocatedResources: resources.requests }),\n",
      replace: "",
      suite: SUITE,
      cases: "^memory-guaranteed$",
      tests: " memory-guaranteed:",
    },
    {
      name: "a pod that completed is initialized without a reason",
      file: "src/domain/pod-status/conditions.ts",
      find: 'if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };',
      replace: 'if (phase === "Succeeded") return yes;',
      suite: SUITE,
      cases: "^init-job$",
      tests: " init-job:",
    },
  ],
};
