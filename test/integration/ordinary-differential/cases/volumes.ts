/** Cases of emptyDir and hostPath volumes, fsGroup, subPath and mount options. */
import type { Volume } from "../../../../src/api/gen/core-v1.ts";
import {
  type Case,
  FAILS,
  lasting,
  mountsOf,
  podName,
  RUNS,
  reported,
  SUCCEEDS,
  scripted,
  VIEW_SCRIPT,
  waits,
  withVolume,
  withVolumes,
} from "../case.ts";
import { claimName, NODE_DIRECTORY } from "../objects.ts";

const DATA: Volume = { name: "data", emptyDir: {} };
const host = (name: string, type?: string): Volume => ({
  name: "data",
  hostPath: { path: `${NODE_DIRECTORY}/${name}`, ...(type === undefined ? {} : { type }) },
});
const hostCase = (name: string, path: string, type: string | undefined): Case => ({
  name: `host-${name}`,
  rows: ["13.6"],
  ending: RUNS,
  spec: withVolumes([host(path, type)]),
});
const hostRefusal = (name: string, path: string, type: string): Case => ({
  name: `host-${name}`,
  rows: ["13.6", "13.1"],
  ending: reported("hostPath type check failed"),
  spec: withVolumes([host(path, type)]),
});
const claimed = (name: string, readOnly = false) => ({
  persistentVolumeClaim: { claimName: name, ...(readOnly ? { readOnly } : {}) },
});

const EMPTY: readonly Case[] = [
  { name: "empty-plain", rows: ["13.1", "13.4", "27.1.9", "27.1.12"], ending: RUNS, spec: withVolumes([DATA]) },
  { name: "empty-sized", rows: ["13.4"], ending: RUNS, spec: withVolume({ emptyDir: { sizeLimit: "1Gi" } }) },
  { name: "empty-unused", rows: ["13.1", "13.4"], ending: RUNS, spec: { volumes: [DATA], containers: [lasting()] } },
  {
    name: "empty-again",
    rows: ["13.4"],
    ending: SUCCEEDS,
    spec: {
      restartPolicy: "OnFailure",
      volumes: [DATA],
      containers: [
        scripted(`if [ -e /v/data/mark ]; then ${VIEW_SCRIPT}; else echo once > /v/data/mark; exit 3; fi`, {
          volumeMounts: mountsOf([DATA]),
        }),
      ],
    },
  },
  {
    name: "empty-unknown-medium",
    rows: ["13.4", "13.1", "27.1.12"],
    ending: reported("unknown storage medium"),
    spec: withVolume({ emptyDir: { medium: "Parchment" } }),
  },
  {
    name: "empty-memory",
    rows: ["13.5", "27.1.9", "27.1.12"],
    ending: RUNS,
    spec: withVolume({ emptyDir: { medium: "Memory" } }),
  },
  {
    name: "empty-memory-sized",
    rows: ["13.5"],
    ending: RUNS,
    spec: withVolume({ emptyDir: { medium: "Memory", sizeLimit: "8Mi" } }),
  },
  {
    name: "empty-memory-limited",
    rows: ["13.5"],
    ending: RUNS,
    spec: withVolume(
      { emptyDir: { medium: "Memory", sizeLimit: "1Gi" } },
      { container: { resources: { limits: { memory: "64Mi" } }, volumeMounts: mountsOf([DATA]) } },
    ),
  },
  {
    name: "empty-huge-unasked",
    rows: ["13.5"],
    ending: reported("hugePages storage requested"),
    spec: withVolume({ emptyDir: { medium: "HugePages" } }),
  },
];

const HOST: readonly Case[] = [
  hostCase("folder", "folder", "Directory"),
  hostCase("folder-made", "made/below", "DirectoryOrCreate"),
  hostCase("file", "file", "File"),
  hostCase("file-made", "only/made", "FileOrCreate"),
  hostCase("untyped", "folder", undefined),
  hostCase("untyped-missing", "made-by-nobody", ""),
  hostCase("socket", "socket", "Socket"),
  hostCase("char", "char", "CharDevice"),
  hostCase("block", "block", "BlockDevice"),
  hostRefusal("folder-missing", "nothing", "Directory"),
  hostRefusal("folder-is-file", "file", "Directory"),
  hostRefusal("folder-or-create-is-file", "file", "DirectoryOrCreate"),
  hostRefusal("file-missing", "nothing", "File"),
  hostRefusal("file-is-folder", "folder", "File"),
  hostRefusal("socket-is-file", "file", "Socket"),
  hostRefusal("char-is-block", "block", "CharDevice"),
  hostRefusal("block-is-char", "char", "BlockDevice"),
];

const GROUP = { pod: { securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 3000 } } } as const;
const grouped = (name: string, policy?: "OnRootMismatch", readOnly = false): Case => ({
  name: `group-local-${name}`,
  rows: ["13.13", "13.16"],
  ending: RUNS,
  spec: ({ node }) =>
    withVolume(claimed(claimName(name, node), readOnly), {
      pod: {
        securityContext: {
          ...GROUP.pod.securityContext,
          ...(policy === undefined ? {} : { fsGroupChangePolicy: policy }),
        },
      },
    }),
});

const GROUPS: readonly Case[] = [
  {
    name: "group-empty",
    rows: ["13.13", "13.4", "13.5"],
    ending: RUNS,
    spec: withVolumes([DATA, { name: "memory", emptyDir: { medium: "Memory" } }], GROUP),
  },
  {
    name: "group-files",
    rows: ["13.13", "13.7"],
    ending: RUNS,
    spec: withVolumes(
      [
        { name: "map", configMap: { name: "words" } },
        { name: "hidden", secret: { secretName: "hidden", defaultMode: 0o400 } },
        { name: "own", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
      ],
      GROUP,
    ),
  },
  { name: "group-host", rows: ["13.13", "13.6"], ending: RUNS, spec: withVolumes([host("folder")], GROUP) },
  grouped("grouped"),
  grouped("grouped-read", undefined, true),
  grouped("matching", "OnRootMismatch"),
  grouped("mismatch", "OnRootMismatch"),
  {
    name: "group-denied",
    rows: ["13.13"],
    ending: FAILS,
    spec: {
      volumes: [host("folder")],
      ...GROUP.pod,
      containers: [scripted(`${VIEW_SCRIPT}; echo no > /v/data/new`, { volumeMounts: mountsOf([DATA]) })],
    },
  },
  {
    name: "group-of-another",
    rows: ["13.13"],
    ending: RUNS,
    spec: ({ node }) => withVolume(claimed(claimName("shared", node)), { pod: { securityContext: { fsGroup: 4000 } } }),
    create: async ({ pods }, pod, side) => {
      const holder = `holder-${podName({ name: "group" }, side)}`;
      const spec = { ...pod.spec, containers: pod.spec?.containers ?? [], securityContext: { fsGroup: 3000 } };
      await pods.create({ ...pod, metadata: { ...pod.metadata, name: holder }, spec });
      await pods.running(holder);
      await pods.create(pod);
    },
  },
];

const NAMED = [
  { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  { name: "UP", value: ".." },
  { name: "ROOT", value: "/etc" },
];
const part = (name: string, volume: Volume, subPath: string): Case => ({
  name: `sub-${name}`,
  rows: ["13.14", "27.1.16"],
  ending: RUNS,
  spec: withVolumes([volume], { mount: { subPath } }),
});
const partByExpression = (volume: Volume, subPathExpr: string) =>
  withVolumes([volume], { container: { env: NAMED, volumeMounts: mountsOf([volume], { subPathExpr }) } });

const PARTS: readonly Case[] = [
  part("empty", DATA, "new/deep"),
  part("map", { name: "data", configMap: { name: "words" } }, "one"),
  part("secret", { name: "data", secret: { secretName: "hidden" } }, "user"),
  part("host", host("subs"), "inside"),
  part("host-inner-link", host("subs"), "inner"),
  part("host-file", host("subs"), "plain"),
  {
    name: "sub-grouped",
    rows: ["13.14", "13.13"],
    ending: RUNS,
    spec: withVolumes([DATA], { ...GROUP, mount: { subPath: "new" } }),
  },
  {
    name: "sub-twice",
    rows: ["13.14", "27.1.16"],
    ending: RUNS,
    spec: {
      volumes: [DATA],
      containers: [
        lasting({
          volumeMounts: [
            { name: "data", mountPath: "/v/whole" },
            { name: "data", mountPath: "/v/one", subPath: "one" },
            { name: "data", mountPath: "/v/two", subPath: "two", readOnly: true },
          ],
        }),
      ],
    },
  },
  { name: "sub-expression", rows: ["13.14"], ending: RUNS, spec: partByExpression(DATA, "of/$(POD_NAME)") },
  {
    name: "sub-local",
    rows: ["13.14", "13.16"],
    ending: RUNS,
    spec: ({ node }) => withVolume(claimed(claimName("sub", node)), { mount: { subPath: "deep" } }),
  },
  part("map-missing", { name: "data", configMap: { name: "words" } }, "absent"),
  {
    name: "sub-read-missing",
    rows: ["13.14", "13.16"],
    ending: waits("CreateContainerConfigError"),
    spec: ({ node }) => withVolume(claimed(claimName("read", node), true), { mount: { subPath: "absent" } }),
  },
  {
    name: "sub-outside",
    rows: ["13.14", "27.1.16"],
    ending: waits("CreateContainerConfigError"),
    spec: withVolumes([host("subs")], { mount: { subPath: "outside" } }),
  },
  {
    name: "sub-away",
    rows: ["13.14"],
    ending: waits("CreateContainerConfigError"),
    spec: withVolumes([host("subs")], { mount: { subPath: "away" } }),
  },
  {
    name: "sub-through-file",
    rows: ["13.14"],
    ending: waits("CreateContainerConfigError"),
    spec: withVolumes([host("subs")], { mount: { subPath: "plain/below" } }),
  },
  {
    name: "sub-up",
    rows: ["13.14"],
    ending: waits("CreateContainerConfigError"),
    spec: partByExpression(DATA, "$(UP)/x"),
  },
  {
    name: "sub-absolute",
    rows: ["13.14"],
    ending: waits("CreateContainerConfigError"),
    spec: partByExpression(DATA, "$(ROOT)"),
  },
  {
    name: "sub-unset",
    rows: ["13.14"],
    ending: waits("CreateContainerConfigError"),
    spec: partByExpression(DATA, "$(UNSET)"),
  },
];

const MOUNTED: readonly Case[] = [
  {
    name: "mount-kinds",
    rows: ["13.15"],
    ending: RUNS,
    spec: {
      volumes: [host("nested")],
      containers: [
        lasting({
          volumeMounts: [
            { name: "data", mountPath: "/v/usual" },
            { name: "data", mountPath: "/v/none", mountPropagation: "None" },
            { name: "data", mountPath: "/v/in", mountPropagation: "HostToContainer" },
            { name: "data", mountPath: "/v/read", readOnly: true },
            { name: "data", mountPath: "/v/not-all", readOnly: true, recursiveReadOnly: "Disabled" },
            { name: "data", mountPath: "/v/if-possible", readOnly: true, recursiveReadOnly: "IfPossible" },
            { name: "data", mountPath: "/v/all", readOnly: true, recursiveReadOnly: "Enabled" },
          ],
        }),
      ],
    },
  },
  {
    name: "mount-both-ways",
    rows: ["13.15"],
    ending: RUNS,
    spec: withVolumes([host("nested")], {
      container: { securityContext: { privileged: true } },
      mount: { mountPropagation: "Bidirectional" },
    }),
  },
  {
    name: "mount-private",
    rows: ["13.15"],
    ending: waits("CreateContainerError"),
    spec: withVolumes([host("private")], { mount: { mountPropagation: "HostToContainer" } }),
  },
  {
    name: "mount-read-only-written",
    rows: ["13.15", "13.4"],
    ending: FAILS,
    spec: {
      volumes: [DATA],
      containers: [
        scripted(`${VIEW_SCRIPT}; echo no > /v/data/new`, { volumeMounts: mountsOf([DATA], { readOnly: true }) }),
      ],
    },
  },
];

export const VOLUME_CASES: readonly Case[] = [...EMPTY, ...HOST, ...GROUPS, ...PARTS, ...MOUNTED];
