/**
 * Which sysctls a pod may set: the safe ones and those that the operator allows. The kernel must namespace the sysctl,
 * and the pod must not share that namespace with the host. Names with slashes are compared in their dotted form.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { goQuote } from "../../base/go-text.ts";
import type { Rejection } from "./verdict.ts";

type Namespace = "IPC" | "Net";

/** By full name and by name prefix. */
export interface SysctlRules {
  readonly names: ReadonlyMap<string, Namespace>;
  readonly prefixes: ReadonlyMap<string, Namespace>;
}

/** With the first kernel that namespaces the sysctl, where not all kernels do. */
const SAFE: readonly (readonly [name: string, kernel?: string])[] = [
  ["kernel.shm_rmid_forced"],
  ["net.ipv4.ip_local_port_range"],
  ["net.ipv4.tcp_syncookies"],
  ["net.ipv4.ping_group_range"],
  ["net.ipv4.ip_unprivileged_port_start"],
  ["net.ipv4.ip_local_reserved_ports", "3.16"],
  ["net.ipv4.tcp_keepalive_time", "4.5"],
  ["net.ipv4.tcp_fin_timeout", "4.6"],
  ["net.ipv4.tcp_keepalive_intvl", "4.5"],
  ["net.ipv4.tcp_keepalive_probes", "4.5"],
  ["net.ipv4.tcp_rmem", "4.15"],
  ["net.ipv4.tcp_wmem", "4.15"],
];

const OF_IPC: ReadonlySet<string> = new Set([
  "kernel.sem",
  "kernel.shmall",
  "kernel.shmmax",
  "kernel.shmmni",
  "kernel.shm_rmid_forced",
  "kernel.msgmax",
  "kernel.msgmnb",
  "kernel.msgmni",
  // The part of a pattern before its star.
  "kernel.shm",
  "kernel.msg",
]);

const LENGTH_MAX = 253;
const SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const PATTERN = `(${SEGMENT}[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]`;
const IS_PATTERN = new RegExp(`^${PATTERN}$`);

/** Returns upstream's error for an invalid list of the operator's; undefined: the list is valid. */
export function unsafeSysctlsFault(allowed: readonly string[]): string | undefined {
  for (const pattern of allowed) {
    if (pattern.length > LENGTH_MAX || !IS_PATTERN.test(pattern)) {
      return `sysctl ${goQuote(pattern)} must have at most ${LENGTH_MAX} characters and match regex ${PATTERN}`;
    }
    const { name } = parsePattern(pattern);
    if (namespaceOf(name) === undefined) return `the sysctls ${goQuote(name)} are not known to be namespaced`;
  }
  return undefined;
}

/** `allowed` must be valid according to unsafeSysctlsFault. */
export function sysctlRules(kernelVersion: string, allowed: readonly string[]): SysctlRules {
  const safe = SAFE.filter(([, kernel]) => kernel === undefined || isAtLeast(kernelVersion, kernel));
  const [names, prefixes] = [new Map<string, Namespace>(), new Map<string, Namespace>()];
  for (const pattern of [...safe.map(([name]) => name), ...allowed]) {
    const { name, isPrefix } = parsePattern(pattern);
    const namespace = namespaceOf(name);
    if (namespace !== undefined) (isPrefix ? prefixes : names).set(name, namespace);
  }
  return { names, prefixes };
}

export function forbiddenSysctl({ spec }: Pod, rules: SysctlRules): Rejection | undefined {
  const shared: Readonly<Record<Namespace, boolean>> = {
    IPC: spec?.hostIPC === true,
    Net: spec?.hostNetwork === true,
  };
  for (const { name: asked } of spec?.securityContext?.sysctls ?? []) {
    const name = dottedSysctl(asked);
    const namespace = rules.names.get(name) ?? [...rules.prefixes].find(([prefix]) => name.startsWith(prefix))?.[1];
    if (namespace === undefined) return forbidden(`${goQuote(name)} not allowlisted`);
    if (shared[namespace]) return forbidden(`${goQuote(name)} not allowed with host ${namespace} enabled`);
  }
  return undefined;
}

const forbidden = (why: string): Rejection => ({ reason: "SysctlForbidden", message: `forbidden sysctl: ${why}` });

function parsePattern(pattern: string): { readonly name: string; readonly isPrefix: boolean } {
  const dotted = dottedSysctl(pattern);
  const star = dotted.indexOf("*");
  return star < 0 ? { name: dotted, isPrefix: false } : { name: dotted.slice(0, star), isPrefix: true };
}

function namespaceOf(name: string): Namespace | undefined {
  if (OF_IPC.has(name) || name.startsWith("fs.mqueue.")) return "IPC";
  return name.startsWith("net.") ? "Net" : undefined;
}

/** `net/ipv4/x` and `net.ipv4.x` name the same sysctl; in the first form, dots are part of a name. */
export function dottedSysctl(name: string): string {
  const first = name.search(/[./]/);
  return first < 0 || name[first] === "." ? name : name.replaceAll(/[./]/g, (c) => (c === "/" ? "." : "/"));
}

/** For example, `6.1.0-13-amd64` is at least `4.15`. A version without a number counts as 0. */
function isAtLeast(kernel: string, least: string): boolean {
  const numbers = (text: string) =>
    (/^\s*v?(?<version>\d+(?:\.\d+)*)/.exec(text)?.groups?.["version"] ?? "").split(".");
  const [ours, wanted] = [numbers(kernel).map(Number), numbers(least).map(Number)];
  for (const [index, number] of wanted.entries()) {
    const own = ours[index] ?? 0;
    if (own !== number) return own > number;
  }
  return true;
}
