import type { MutantArea } from "../mutant.ts";

const SUITE = "ordinary-differential";

export const ENVIRONMENT: MutantArea = {
  area: "environment",
  mutants: [
    {
      name: "a doubled dollar stays doubled",
      file: "src/domain/container-config/environment/expand.ts",
      find: 'utf8Bytes(written === "$$" ? "$" : written)',
      replace: "utf8Bytes(written)",
      suite: SUITE,
      cases: "^env-plain$",
      tests: "\\[24\\.7\\]",
    },
    {
      name: "envFrom ignores its prefix",
      file: "src/domain/container-config/environment/container-environment.ts",
      find: "own.set(`${prefix}${key}`, value)",
      replace: "own.set(key, value)",
      suite: SUITE,
      cases: "^env-from$",
      tests: "\\[24\\.7\\]",
    },
    {
      name: "a resource in units of its divisor is rounded down",
      file: "src/domain/container-config/environment/resource-reference.ts",
      find: "BigInt(Math.ceil(Number(inUnits(value))",
      replace: "BigInt(Math.floor(Number(inUnits(value))",
      suite: SUITE,
      cases: "^env-resources$",
      tests: "\\[24\\.9\\]",
    },
    {
      name: "the protocol in a Service's variables is upper case",
      file: "src/domain/container-config/environment/service-environment.ts",
      find: "[`${link}_PROTO`, protocolOf(port).toLowerCase()],",
      replace: "[`${link}_PROTO`, protocolOf(port)],",
      suite: SUITE,
      cases: "^env-services$",
      tests: "\\[24\\.6\\]",
    },
    {
      name: "the names of a host alias are separated by spaces",
      file: "src/domain/container-config/hosts-file.ts",
      find: '(hostnames ?? []).join("\\t")',
      replace: '(hostnames ?? []).join(" ")',
      suite: SUITE,
      cases: "^hosts-aliases$",
      tests: "\\[24\\.4\\]",
    },
    {
      name: "a search domain that the cluster has already is searched twice",
      file: "src/domain/container-config/dns-config.ts",
      find: "unique([...base.searches, ...(own.searches ?? [])])",
      replace: "[...base.searches, ...(own.searches ?? [])]",
      suite: SUITE,
      cases: "^dns-merged$",
      tests: "\\[24\\.3\\]",
    },
  ],
};
