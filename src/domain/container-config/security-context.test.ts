import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import type { Container, PodSecurityContext, SecurityContext } from "../../api/gen/core-v1.ts";
import { containerSecurity, sandboxSecurity } from "./security-context.ts";
import { unusableProfile } from "./security-profiles.ts";
import { NODE_USERS } from "./user-namespace.ts";

const SETTINGS = {
  seccompDefault: false,
  seccompRoot: "/var/lib/kubelet/seccomp",
  thermalPaths: ["/sys/devices/system/cpu/cpu0/thermal_throttle"],
  imageUser: { uid: 5n },
  volumeGroups: [] as readonly bigint[],
  users: NODE_USERS,
};
const GIVEN = { volumeGroups: [], users: NODE_USERS };
const security = (
  ofPod: PodSecurityContext,
  own: SecurityContext = {},
  more: Partial<typeof SETTINGS> = {},
  annotations: Record<string, string> = {},
) =>
  containerSecurity(pod({ securityContext: ofPod }, { annotations }), container("app", { securityContext: own }), {
    ...SETTINGS,
    ...more,
  });

void suite("security context of a container", () => {
  test("[25.1] the container's user and group override the pod's, and the image's user is the default", () => {
    const who = (ofPod: PodSecurityContext, own: SecurityContext = {}) => {
      const { runAsUser, runAsGroup, runAsUsername } = security(ofPod, own);
      return [runAsUser, runAsGroup, runAsUsername];
    };
    assert.deepEqual(who({}), [5n, undefined, undefined]);
    assert.deepEqual(who({ runAsUser: 1, runAsGroup: 2 }), [1n, 2n, undefined]);
    assert.deepEqual(who({ runAsUser: 1, runAsGroup: 2 }, { runAsUser: 0, runAsGroup: 0 }), [0n, 0n, undefined]);
    assert.deepEqual(security({}, {}, { imageUser: { username: "www" } as never }).runAsUsername, "www");
  });

  test("[25.1] supplemental groups are fsGroup, those listed, then the volumes'; a sandbox has the volumes' second", () => {
    const ofPod: PodSecurityContext = { fsGroup: 3, supplementalGroups: [1, 2], supplementalGroupsPolicy: "Strict" };
    const own = security(ofPod, {}, { volumeGroups: [9n] });
    assert.deepEqual([own.supplementalGroups, own.supplementalGroupsPolicy], [[3n, 1n, 2n, 9n], "strict"]);
    const sandbox = sandboxSecurity(pod({ securityContext: ofPod }), { ...GIVEN, volumeGroups: [9n] });
    assert.deepEqual([sandbox.supplementalGroups, sandbox.supplementalGroupsPolicy], [[3n, 9n, 1n, 2n], "strict"]);
    assert.equal(security({}).supplementalGroupsPolicy, "merge");
  });

  test("[25.3] privileges follow the container's settings; a sandbox with a privileged container is privileged", () => {
    const plain = security({});
    assert.deepEqual(
      [plain.privileged, plain.readonlyRootfs, plain.noNewPrivileges, plain.capabilities],
      [false, false, false, undefined],
    );
    const asked = security(
      {},
      {
        privileged: true,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
      },
    );
    assert.deepEqual(
      [asked.privileged, asked.readonlyRootfs, asked.noNewPrivileges, asked.capabilities],
      [true, true, true, { add: ["NET_ADMIN"], drop: ["ALL"], addAmbient: [] }],
    );
    assert.equal(security({}, { allowPrivilegeEscalation: true }).noNewPrivileges, false);
    const privileged: Container = container("init", { securityContext: { privileged: true } });
    assert.equal(sandboxSecurity(pod({ initContainers: [privileged] }), GIVEN).privileged, true);
    assert.equal(sandboxSecurity(pod(), GIVEN).privileged, false);
  });

  test("[25.4] /proc and /sys paths are masked or read-only unless procMount is Unmasked in a user namespace", () => {
    const masked = [
      "/proc/asound",
      "/proc/acpi",
      "/proc/interrupts",
      "/proc/kcore",
      "/proc/keys",
      "/proc/latency_stats",
      "/proc/timer_list",
      "/proc/timer_stats",
      "/proc/sched_debug",
      "/proc/scsi",
      "/sys/firmware",
      "/sys/devices/virtual/powercap",
      "/sys/devices/system/cpu/cpu0/thermal_throttle",
    ];
    const readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];
    for (const own of [{}, { procMount: "Default" }, { privileged: true }]) {
      const paths = security({}, own);
      assert.deepEqual([paths.maskedPaths, paths.readonlyPaths], [masked, readonlyPaths]);
    }
    const unmasked = container("app", { securityContext: { procMount: "Unmasked" } });
    const paths = (hostUsers: boolean | undefined) => {
      const own = containerSecurity(pod(hostUsers === undefined ? {} : { hostUsers }), unmasked, SETTINGS);
      return [own.maskedPaths, own.readonlyPaths];
    };
    assert.deepEqual(paths(false), [[], []]);
    for (const hostUsers of [true, undefined]) assert.deepEqual(paths(hostUsers), [masked, readonlyPaths]);
  });

  test("[25.5] the container's seccomp profile overrides the pod's, files get a full path, seccompDefault is the default", () => {
    const kind = (ofPod: PodSecurityContext, own: SecurityContext = {}, seccompDefault = false) =>
      security(ofPod, own, { seccompDefault }).seccomp;
    const file = { seccompProfile: { type: "Localhost", localhostProfile: "a/b.json" } };
    const inFile = { kind: "localhost", reference: "/var/lib/kubelet/seccomp/a/b.json" };
    assert.deepEqual(kind({}), { kind: "unconfined" });
    assert.deepEqual(kind({}, {}, true), { kind: "runtimeDefault" });
    assert.deepEqual(kind({ seccompProfile: { type: "Unconfined" } }, {}, true), { kind: "unconfined" });
    assert.deepEqual(kind({ seccompProfile: { type: "RuntimeDefault" } }), { kind: "runtimeDefault" });
    assert.deepEqual(kind(file), inFile);
    assert.deepEqual(kind({ seccompProfile: { type: "RuntimeDefault" } }, file), inFile);
    assert.deepEqual(kind(file, { seccompProfile: { type: "Unconfined" } }), { kind: "unconfined" });
    assert.deepEqual(sandboxSecurity(pod({ securityContext: file }), GIVEN).seccomp, { kind: "runtimeDefault" });
  });

  test("[25.6] the AppArmor profile is the container's, else that of its annotation, else the pod's", () => {
    const key = "container.apparmor.security.beta.kubernetes.io/app";
    const profile = (ofPod: PodSecurityContext, own: SecurityContext = {}, said?: string) =>
      security(ofPod, own, {}, said === undefined ? {} : { [key]: said }).apparmor;
    const local = { appArmorProfile: { type: "Localhost", localhostProfile: "mine" } };
    assert.equal(profile({}), undefined);
    assert.deepEqual(profile(local), { kind: "localhost", reference: "mine" });
    assert.deepEqual(profile(local, { appArmorProfile: { type: "Unconfined" } }), { kind: "unconfined" });
    assert.deepEqual(profile(local, {}, "runtime/default"), { kind: "runtimeDefault" });
    assert.deepEqual(profile({}, {}, "unconfined"), { kind: "unconfined" });
    assert.deepEqual(profile({}, {}, "localhost/other"), { kind: "localhost", reference: "other" });
    assert.deepEqual(profile(local, {}, "nonsense"), { kind: "localhost", reference: "mine" });
    assert.deepEqual(profile({}, local, "unconfined"), { kind: "localhost", reference: "mine" });
  });

  test("[25.6] SELinux options are passed whole, and the container's replace the pod's", () => {
    const options = { user: "u", role: "r", type: "t", level: "s0:c1" };
    assert.deepEqual(security({ seLinuxOptions: options }).selinux, options);
    const own = security({ seLinuxOptions: options }, { seLinuxOptions: { level: "s0:c2" } }).selinux;
    assert.deepEqual(own, { user: "", role: "", type: "", level: "s0:c2" });
    assert.equal(security({}).selinux, undefined);
    assert.deepEqual(sandboxSecurity(pod({ securityContext: { seLinuxOptions: options } }), GIVEN).selinux, options);
  });

  test("[25.5] a Localhost profile without a name or with an unsafe path is refused with upstream's message", () => {
    const why = (own: SecurityContext) => unusableProfile(pod(), container("app", { securityContext: own }));
    assert.equal(
      why({ seccompProfile: { type: "Localhost" } }),
      "localhostProfile must be set if seccompProfile type is Localhost.",
    );
    assert.equal(why({ appArmorProfile: { type: "Localhost" } }), "missing localhost apparmor profile name");
    assert.equal(why({ seccompProfile: { type: "Localhost", localhostProfile: "a" } }), undefined);
    assert.equal(why({ seccompProfile: { type: "Localhost", localhostProfile: "a/b..json" } }), undefined);
    for (const localhostProfile of ["../a", "a/../../b", "/etc/a", ".."]) {
      assert.equal(
        why({ seccompProfile: { type: "Localhost", localhostProfile } }),
        `seccompProfile.localhostProfile "${localhostProfile}" must be a descending relative path`,
      );
    }
    assert.equal(why({}), undefined);
  });
});
