import type { MutantArea } from "../mutant.ts";

const SUITE = "ordinary-differential";

export const VOLUMES: MutantArea = {
  area: "volumes",
  mutants: [
    {
      name: "directories of written files do not pass the pod's group on",
      file: "src/domain/volumes/write-plan.ts",
      find: "group === undefined ? mode : mode | 0o2550",
      replace: "group === undefined ? mode : mode | 0o550",
      suite: SUITE,
      cases: "^group-files$",
      tests: "\\[13\\.13\\]",
    },
    {
      name: "a host directory is created without access for others",
      file: "src/domain/volumes/host-path.ts",
      find: '{ kind: "makeDirectory", mode: 0o755 }',
      replace: '{ kind: "makeDirectory", mode: 0o750 }',
      suite: SUITE,
      cases: "^host-folder-made$",
      tests: "\\[13\\.6\\]",
    },
    {
      name: "a mount that follows the host does not",
      file: "src/domain/volumes/container-mounts.ts",
      find: 'return "hostToContainer";',
      replace: 'return "private";',
      suite: SUITE,
      cases: "^mount-kinds$",
      tests: "\\[13\\.15\\]",
    },
    {
      name: "a mount that should be read-only throughout where possible never is",
      file: "src/domain/volumes/container-mounts.ts",
      find: 'if (mode === "IfPossible") return { kind: "mode", recursive: isAble };',
      replace: 'if (mode === "IfPossible") return { kind: "mode", recursive: false };',
      suite: SUITE,
      cases: "^mount-kinds$",
      tests: "\\[13\\.15\\]",
    },
    {
      name: "a token lives for an hour, whatever its volume requests",
      file: "src/domain/volumes/token.ts",
      find: "    expirationSeconds,\n    boundObjectRef",
      replace: "    expirationSeconds: DEFAULT_EXPIRATION_SECONDS,\n    boundObjectRef",
      suite: SUITE,
      cases: "^token-audience$",
      tests: "\\[13\\.11\\]",
    },
    {
      name: "the size limit of a volume in memory is ignored",
      file: "src/domain/volumes/memory-volume.ts",
      find: "for (const limit of [memoryLimitBytes, own])",
      replace: "for (const limit of [memoryLimitBytes])",
      suite: SUITE,
      cases: "^empty-memory-sized$",
      tests: "\\[13\\.5\\]",
    },
    {
      name: "the mark of a complete Secret volume has the name that an emptyDir's has",
      file: "src/domain/volumes/layout.ts",
      find: "plugin === EMPTY_DIR ? name : `wrapped_${name}`",
      replace: "name",
      suite: SUITE,
      cases: "^secret-whole$",
      tests: "\\[13\\.7\\]",
    },
  ],
};
