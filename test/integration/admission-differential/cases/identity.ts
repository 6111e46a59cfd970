/**
 * Pods with security contexts, host ports, memory limits and user namespaces: who their containers run as, which
 * privileges they have, and what they see of the machine.
 */
import type { Container, Pod, PodSpec } from "../../../../src/api/gen/core-v1.ts";
import { NODES, type Side } from "../../../golden/sides.ts";
import { podOn, SLEEPER } from "../../../support/cluster-pods.ts";
import {
  type Case,
  type Ending,
  FAILS,
  lasting,
  type Place,
  RUNS,
  reported,
  SUCCEEDS,
  scripted,
  VIEW_SCRIPT,
  viewer,
  type World,
  waits,
} from "../../ordinary-differential/case.ts";
import { UNTIL_CLASSES_ARE_READ } from "./kernel.ts";

type Security = NonNullable<Container["securityContext"]>;
type PodSecurity = NonNullable<PodSpec["securityContext"]>;

interface More {
  readonly ending?: Ending;
  readonly image?: (place: Place) => string;
  /** A shell condition that must hold for the container to succeed. If it holds, the container prints what it sees. */
  readonly condition?: string;
  readonly pod?: Partial<PodSpec>;
}

const of = (
  name: string,
  rows: readonly string[],
  pod: PodSecurity,
  own: Security,
  { ending = SUCCEEDS, image, condition, pod: spec = {} }: More = {},
): Case => ({
  name,
  rows,
  ending,
  spec: (place) => {
    const container = { securityContext: own, ...(image === undefined ? {} : { image: image(place) }) };
    const runs =
      condition === undefined ? viewer(container) : scripted(`${condition} && {${VIEW_SCRIPT}\n}`, container);
    return { securityContext: pod, containers: [runs], ...spec };
  },
});

const REFUSED: More = { ending: waits("CreateContainerConfigError") };
const NOT_MADE: More = { ending: waits("CreateContainerError") };
const user = (name: string): More => ({ image: ({ open }) => `${open}/deckhand/user-${name}:1` });
const holds = (condition: string): More => ({ condition });
const fails = (condition: string): More => ({ condition, ending: FAILS });

const NON_ROOT: readonly Case[] = [
  of("nonroot-user", ["25.2"], { runAsNonRoot: true }, { runAsUser: 1000 }),
  of("nonroot-pod-is-root", ["25.2"], { runAsNonRoot: true, runAsUser: 0 }, {}, REFUSED),
  of("nonroot-container-is-root", ["25.2"], { runAsUser: 7 }, { runAsNonRoot: true, runAsUser: 0 }, REFUSED),
  of("nonroot-container-need-not", ["25.2"], { runAsNonRoot: true, runAsUser: 0 }, { runAsNonRoot: false }),
  of("nonroot-image-is-root", ["25.2"], { runAsNonRoot: true }, {}, REFUSED),
  of("nonroot-image-number", ["25.2"], { runAsNonRoot: true }, {}, user("number")),
  of("nonroot-image-name", ["25.2"], { runAsNonRoot: true }, {}, { ...REFUSED, ...user("name") }),
  of("nonroot-image-name-overruled", ["25.2"], { runAsNonRoot: true }, { runAsUser: 33 }, user("name")),
];

const IDENTITY: readonly Case[] = [
  of("identity-none", ["25.1"], {}, {}),
  of("identity-pod", ["25.1"], { runAsUser: 1001, runAsGroup: 2002, fsGroup: 3003, supplementalGroups: [5, 4] }, {}),
  of("identity-own", ["25.1"], { runAsUser: 1001, runAsGroup: 2002 }, { runAsUser: 7, runAsGroup: 8 }),
  of("identity-image-number", ["25.1"], {}, {}, user("number")),
  of("identity-image-name", ["25.1"], { supplementalGroups: [9] }, {}, user("name")),
  of("identity-merge", ["25.1"], { supplementalGroups: [9], supplementalGroupsPolicy: "Merge" }, {}, user("name")),
  of(
    "identity-strict",
    ["25.1", "5.9"],
    { supplementalGroups: [9], supplementalGroupsPolicy: "Strict" },
    {},
    user("name"),
  ),
  of("identity-may-not", ["25.1"], {}, { runAsUser: 1000 }, fails("touch /root/x")),
  {
    name: "identity-volume-group",
    rows: ["25.1"],
    ending: RUNS,
    spec: ({ node }) => ({
      securityContext: { runAsUser: 1000, supplementalGroups: [6] },
      containers: [lasting({ volumeMounts: [{ name: "data", mountPath: "/v/data" }] })],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: `grouped-${node}` } }],
    }),
  },
];

const PRIVILEGES: readonly Case[] = [
  of("privileged", ["25.3", "25.4"], {}, { privileged: true }, holds("mount -t tmpfs none /tmp")),
  of("privileged-not", ["25.3"], {}, {}, fails("mount -t tmpfs none /tmp")),
  of("capability-added", ["25.3"], {}, { capabilities: { add: ["SYS_ADMIN"] } }, holds("mount -t tmpfs none /tmp")),
  of("capability-dropped", ["25.3"], {}, { capabilities: { drop: ["ALL"] } }, fails("touch /tmp/x && chown 5 /tmp/x")),
  of("root-read-only", ["25.3"], {}, { readOnlyRootFilesystem: true }, fails("touch /x")),
  of(
    "no-new-privileges",
    ["25.3"],
    {},
    { allowPrivilegeEscalation: false },
    holds("grep -q 'NoNewPrivs:[[:space:]]*1' /proc/self/status"),
  ),
  of(
    "new-privileges",
    ["25.3"],
    {},
    { allowPrivilegeEscalation: true },
    holds("grep -q 'NoNewPrivs:[[:space:]]*0' /proc/self/status"),
  ),
  of("masked", ["25.4"], {}, {}, holds("test `cat /proc/timer_list /proc/keys | wc -c` = 0")),
  of("masked-read-only", ["25.4"], {}, {}, fails("echo 1 > /proc/sys/vm/drop_caches")),
  of("masked-default", ["25.4"], {}, { procMount: "Default" }),
];

const PROFILES: readonly Case[] = [
  of("seccomp-default", ["25.5"], { seccompProfile: { type: "RuntimeDefault" } }, {}),
  of(
    "seccomp-none",
    ["25.5"],
    { seccompProfile: { type: "RuntimeDefault" } },
    { seccompProfile: { type: "Unconfined" } },
  ),
  of("seccomp-file", ["25.5", "27.1.32"], { seccompProfile: localhost("open.json") }, {}),
  of(
    "seccomp-file-below",
    ["25.5", "27.1.32"],
    {},
    { seccompProfile: localhost("below/strict.json") },
    fails("mkdir /tmp/x"),
  ),
  of("seccomp-file-missing", ["25.5", "27.1.32"], {}, { seccompProfile: localhost("missing.json") }, NOT_MADE),
  of("apparmor-default", ["5.9", "25.6"], { appArmorProfile: { type: "RuntimeDefault" } }, {}, { ending: FAILS }),
  of("apparmor-file", ["5.9", "25.6"], {}, { appArmorProfile: localhost("mine") }, { ending: FAILS }),
  of("apparmor-none", ["5.9", "25.6"], { appArmorProfile: { type: "Unconfined" } }, {}),
  of("selinux", ["25.6"], { seLinuxOptions: { level: "s0:c1,c2" } }, { seLinuxOptions: { type: "spc_t" } }),
];

function localhost(localhostProfile: string) {
  return { type: "Localhost", localhostProfile } as const;
}

/**
 * The node's seccomp profiles under the paths that the cases above name: one allows everything, one forbids creating
 * directories.
 */
export const SECCOMP_FILES = {
  "open.json": { defaultAction: "SCMP_ACT_ALLOW" },
  "below/strict.json": {
    defaultAction: "SCMP_ACT_ALLOW",
    syscalls: [{ names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO" }],
  },
} as const;

const GREEDY: readonly Case[] = [
  {
    name: "memory-enough",
    rows: ["7.29"],
    ending: SUCCEEDS,
    spec: { containers: [viewer({ resources: { limits: { memory: "64Mi" } } })] },
  },
  {
    name: "memory-too-much",
    rows: ["7.29"],
    ending: FAILS,
    spec: { containers: [scripted("tail /dev/zero", { resources: { limits: { memory: "24Mi" } } })] },
  },
];

const HELD_PORT = 28_090;

/** Creates the pod while another pod already uses the host port. */
async function createBeside({ pods }: World, pod: Pod, side: Side): Promise<void> {
  const holder = `ports-holder-${NODES[side]}`;
  const ports = [{ containerPort: 80, hostPort: HELD_PORT }];
  await pods.create(podOn(NODES[side], holder, { containers: [{ ...SLEEPER, ports }] }));
  await pods.running(holder);
  await pods.create(pod);
}

const PORTS: readonly Case[] = [
  {
    name: "ports-taken",
    rows: ["5.3", "25.11"],
    ending: FAILS,
    create: createBeside,
    spec: { containers: [viewer({ ports: [{ containerPort: 81, hostPort: HELD_PORT }] })] },
  },
  {
    name: "ports-mapped",
    rows: ["25.11"],
    ending: SUCCEEDS,
    spec: {
      containers: [
        viewer({
          ports: [
            { name: "web", containerPort: 80, hostPort: 28_080 },
            { containerPort: 53, hostPort: 28_053, protocol: "UDP" },
            { containerPort: 53, hostPort: 28_053, protocol: "TCP", hostIP: "127.0.0.1" },
            { containerPort: 99 },
          ],
        }),
      ],
    },
  },
  {
    name: "ports-said-twice",
    rows: ["25.11"],
    ending: SUCCEEDS,
    spec: { containers: [viewer({ ports: [{ containerPort: 81 }, { containerPort: 81 }] })] },
  },
];

/** ID 0 in the container is not ID 0 of the node. */
const MAPPED = "! grep -q '^ *0 *0 ' /proc/self/uid_map && ! grep -q '^ *0 *0 ' /proc/self/gid_map";
const ownUsers: Partial<PodSpec> = { hostUsers: false };

const USERS: readonly Case[] = [
  of("users-own", ["25.7", "27.1.15"], {}, {}, { ...holds(MAPPED), pod: ownUsers }),
  of("users-own-other", ["25.7"], { runAsUser: 1000, fsGroup: 2000 }, {}, { ...holds(MAPPED), pod: ownUsers }),
  of("users-of-the-node", ["25.7"], {}, {}, { pod: { hostUsers: true } }),
  of("users-unmasked", ["25.4", "25.7"], {}, { procMount: "Unmasked" }, { ...holds(MAPPED), pod: ownUsers }),
  {
    name: "users-and-files",
    rows: ["25.7", "27.1.15"],
    ending: RUNS,
    spec: {
      hostUsers: false,
      securityContext: { runAsUser: 1000, fsGroup: 2000 },
      containers: [
        lasting({
          volumeMounts: [
            { name: "empty", mountPath: "/v/empty" },
            { name: "fields", mountPath: "/v/fields" },
          ],
        }),
      ],
      volumes: [
        { name: "empty", emptyDir: {} },
        { name: "fields", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.namespace" } }] } },
      ],
    },
  },
  {
    ...of(
      "users-unable",
      ["25.7"],
      {},
      {},
      {
        ending: reported("does not support user namespaces"),
        pod: { ...ownUsers, runtimeClassName: "strange" },
      },
    ),
    ...UNTIL_CLASSES_ARE_READ,
  },
];

/**
 * Each of these cases pulls an image that later cases use. They run first, so that always the same pod pulls the image.
 */
const PULLING: readonly string[] = ["nonroot-image-number", "identity-image-name"];
export const pullsForOthers = ({ name }: Case): boolean => PULLING.includes(name);

export const IDENTITY_CASES: readonly Case[] = [
  ...NON_ROOT,
  ...IDENTITY,
  ...PRIVILEGES,
  ...PROFILES,
  ...PORTS,
  ...GREEDY,
  ...USERS,
];
