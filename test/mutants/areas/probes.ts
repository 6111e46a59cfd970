import type { MutantArea } from "../mutant.ts";

const SUITE = "probes";

export const PROBES: MutantArea = {
  area: "probes",
  mutants: [
    {
      name: "the standard error of an exec probe is lost",
      file: "src/controllers/probes/run-probe.ts",
      find: "Buffer.concat([stdout, stderr])",
      replace: "Buffer.concat([stdout])",
      suite: SUITE,
      cases: "^exec-unready$",
      tests: " exec-unready:",
    },
    {
      name: "a command that timed out is reported without the unit of its limit",
      file: "src/domain/probes/outcome.ts",
      find: "timed out after ${seconds(timeoutSeconds)}",
      replace: "timed out after ${timeoutSeconds}",
      suite: SUITE,
      cases: "^exec-late$",
      tests: " exec-late:",
    },
    {
      name: "variables are not expanded in the command of an exec probe",
      file: "src/domain/probes/exec-command.ts",
      find: "return command.map((part) => utf8Text(expand(part, (name) => values.get(name))) ?? part);",
      replace: "return command;",
      suite: SUITE,
      cases: "^exec-variable$",
      tests: " exec-variable:",
    },
    {
      name: "every success of a probe is reported as a warning",
      file: "src/domain/probes/outcome.ts",
      find: "      if (outcome.warning === undefined) return undefined;\n",
      replace: "",
      suite: SUITE,
      cases: "^http-ready$",
      tests: " http-ready:",
    },
    {
      name: "the status of an unhealthy gRPC service is not quoted",
      file: "src/domain/probes/outcome.ts",
      find: "responded with ${goQuote(health.status)}",
      replace: "responded with ${health.status}",
      suite: SUITE,
      cases: "^grpc-sick$",
      tests: " grpc-sick:",
    },
    {
      name: "the event about a container killed for a probe does not say that it restarts",
      file: "src/controllers/pod-workers/stop-containers.ts",
      find: 'probe${isLast ? "" : ", will be restarted"}`',
      replace: "probe`",
      suite: SUITE,
      cases: "^tcp-dies$",
      tests: " tcp-dies:",
    },
  ],
};
