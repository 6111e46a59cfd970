import type { MutantArea } from "../mutant.ts";

const SUITE = "admission-differential";

export const ADMISSION: MutantArea = {
  area: "admission",
  mutants: [
    {
      name: "of several resources that do not fit, memory is named before CPU",
      file: "src/domain/admission/resource-fit.ts",
      find: 'const FIRST = ["cpu", "memory", "ephemeral-storage"];',
      replace: 'const FIRST = ["memory", "cpu", "ephemeral-storage"];',
      suite: SUITE,
      cases: "^room-several$",
      tests: "\\[5\\.2\\]",
    },
    {
      name: "a forbidden sysctl is named with slashes",
      file: "src/domain/admission/sysctls.ts",
      find: "forbidden(`${goQuote(name)} not allowlisted`)",
      replace: "forbidden(`${goQuote(asked)} not allowlisted`)",
      suite: SUITE,
      cases: "^sysctl-unsafe-slashes$",
      tests: "\\[25\\.9\\]",
    },
    {
      name: "the message about taken host ports lacks its predicate",
      file: "src/domain/admission/host-ports.ts",
      find: "message: `Predicate NodePorts failed: ${why}`",
      replace: "message: why",
      suite: SUITE,
      cases: "^ports-taken$",
      tests: "\\[25\\.11\\]",
    },
    {
      name: "a pod for another operating system is rejected with the reason for its label",
      file: "src/domain/admission/node-selection.ts",
      find: 'reason: "PodOSNotSupported"',
      replace: 'reason: "PodOSSelectorNodeLabelDoesNotMatch"',
      suite: SUITE,
      cases: "^place-system$",
      tests: "\\[5\\.4\\]",
    },
    {
      name: "the status of a rejected pod does not say that it was rejected",
      file: "src/domain/pod-status/pod-status.ts",
      find: "message: `Pod was rejected: ${message}`,",
      replace: "message,",
      suite: SUITE,
      cases: "^place-selector$",
      tests: "\\[5\\.4\\]",
    },
    {
      name: "no event says why a pod was rejected",
      file: "src/controllers/sync-loop/admission.ts",
      find: '      this.#emit(each.pod, "Warning", rejection);\n',
      replace: "",
      suite: SUITE,
      cases: "^apparmor-default$",
      tests: "\\[25\\.6\\]",
    },
  ],
};
