import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { PodSpec } from "../../api/gen/core-v1.ts";
import { forbiddenSysctl, sysctlRules, unsafeSysctlsFault } from "./sysctls.ts";

const KERNEL = "6.1.0-13-amd64";
const judged = (names: readonly string[], spec: Partial<PodSpec> = {}, rules = sysctlRules(KERNEL, [])) =>
  forbiddenSysctl(
    { spec: { containers: [], securityContext: { sysctls: names.map((name) => ({ name, value: "1" })) }, ...spec } },
    rules,
  )?.message;

const SAFE = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_wmem",
];

void suite("sysctls of a pod", () => {
  test("[25.9] are allowed if they are among the twelve safe ones, with dots or slashes in their names", () => {
    assert.equal(judged(SAFE), undefined);
    assert.equal(judged(SAFE.map((name) => name.replaceAll(".", "/"))), undefined);
    assert.equal(judged([]), undefined);
    assert.deepEqual(forbiddenSysctl({ spec: { containers: [] } }, sysctlRules(KERNEL, [])), undefined);
  });

  test("[5.7] are forbidden otherwise, and the message names the first one in dotted form", () => {
    assert.deepEqual(
      forbiddenSysctl(
        { spec: { containers: [], securityContext: { sysctls: [{ name: "kernel/msgmax", value: "1" }] } } },
        sysctlRules(KERNEL, []),
      ),
      { reason: "SysctlForbidden", message: 'forbidden sysctl: "kernel.msgmax" not allowlisted' },
    );
    assert.equal(
      judged(["net.ipv4.tcp_syncookies", "vm.swappiness", "kernel.shmmax"]),
      'forbidden sysctl: "vm.swappiness" not allowlisted',
    );
    assert.equal(
      judged(["net/ipv4/conf/eno2.100/rp_filter"]),
      'forbidden sysctl: "net.ipv4.conf.eno2/100.rp_filter" not allowlisted',
    );
  });

  test("[5.7] are allowed if the operator allows them by name or prefix", () => {
    const rules = sysctlRules(KERNEL, ["kernel.msg*", "net.core.somaxconn", "net/ipv6/*", "fs.mqueue.*"]);
    for (const name of ["kernel.msgmax", "net.core.somaxconn", "net.ipv6.conf.all.disable_ipv6", "fs.mqueue.msg_max"])
      assert.equal(judged([name], {}, rules), undefined, name);
    assert.equal(judged(["net.core.somaxconn2"], {}, rules), 'forbidden sysctl: "net.core.somaxconn2" not allowlisted');
  });

  test("[5.7] are forbidden if the pod shares their namespace with the host", () => {
    const rules = sysctlRules(KERNEL, ["kernel.msg*", "net.core.*"]);
    const refused = (name: string, kind: string) => `forbidden sysctl: "${name}" not allowed with host ${kind} enabled`;
    const syncookies = "net.ipv4.tcp_syncookies";
    assert.equal(judged([syncookies], { hostNetwork: true }), refused(syncookies, "Net"));
    assert.equal(judged(["kernel.shm_rmid_forced"], { hostIPC: true }), refused("kernel.shm_rmid_forced", "IPC"));
    assert.equal(judged(["kernel.msgmax"], { hostIPC: true }, rules), refused("kernel.msgmax", "IPC"));
    assert.equal(judged(["net.core.x"], { hostNetwork: true }, rules), refused("net.core.x", "Net"));
    assert.equal(judged([syncookies], { hostIPC: true, hostPID: true }), undefined);
    assert.equal(judged(["kernel.shm_rmid_forced"], { hostNetwork: true }), undefined);
  });

  test("[25.9] are safe in fewer cases on older kernels", () => {
    const safeOn = (kernel: string) => SAFE.filter((name) => judged([name], {}, sysctlRules(kernel, [])) === undefined);
    assert.equal(safeOn("").length, 5);
    assert.equal(safeOn("3.10.0-1160.el7.x86_64").length, 5);
    assert.equal(safeOn("3.16").length, 6);
    assert.equal(safeOn("4.5.0").length, 9);
    assert.equal(safeOn("4.6.0-rc1").length, 10);
    assert.equal(safeOn("4.14.336").length, 10);
    assert.equal(safeOn("4.15").length, 12);
    assert.equal(safeOn("10.0").length, 12);
  });

  test("[5.7] an invalid list of allowed unsafe sysctls is refused with upstream's message", () => {
    assert.equal(unsafeSysctlsFault(["kernel.msg*", "net.core.somaxconn", "kernel/sem"]), undefined);
    assert.equal(
      unsafeSysctlsFault(["net.*", "vm.swappiness"]),
      'the sysctls "vm.swappiness" are not known to be namespaced',
    );
    assert.equal(unsafeSysctlsFault(["kernel.*"]), 'the sysctls "kernel." are not known to be namespaced');
    const regex = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]";
    for (const bad of ["", "a..b", "net.*.x", "Net.x", `net.${"x".repeat(250)}`])
      assert.equal(
        unsafeSysctlsFault([bad]),
        `sysctl "${bad}" must have at most 253 characters and match regex ${regex}`,
      );
  });
});
