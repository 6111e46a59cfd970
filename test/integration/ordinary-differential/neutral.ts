/**
 * Observations of one agent without what differs between two runs: names of pods and nodes, IDs, times, addresses, the
 * facts of the cluster and its machine, and random values. A token is replaced by its claims.
 */
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { sorted } from "../../support/normal-form.ts";
import type { Place } from "./case.ts";
import type { ClusterFacts } from "./cluster-facts.ts";

const RULES: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "<time>"],
  [/\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+/g, "..<time>"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<some uid>"],
  [/\b[0-9a-f]{64}\b(?<!sha256:[0-9a-f]{64})/g, "<id>"],
  [/kube-api-access-[a-z0-9]{5}\b/g, "kube-api-access-<chance>"],
  [/(?<directory>containers\/[^/"\s]+\/)[0-9a-f]{8}\b/g, "$<directory><file>"],
  // How long a pull took.
  [/ in [0-9.]+m?s \([0-9.]+m?s including waiting\)/g, " in <time> (<time> including waiting)"],
  [/\/proc\/\d+\/fd\/\d+/g, "/proc/<pid>/fd/<fd>"],
  // Which free range of user IDs a pod gets.
  [/(?<="hostId":)\d+/g, "0"],
];

export interface Named {
  readonly pod: Pod;
  readonly place: Place;
  readonly facts: ClusterFacts;
}

export function neutral(value: unknown, names: Named): unknown {
  const rendered = JSON.stringify(sorted(value), (_, item: unknown) => {
    if (typeof item === "bigint") return String(item);
    return typeof item === "string" ? item.replaceAll(TOKEN, claimsOf) : item;
  });
  return JSON.parse(neutralText(rendered ?? "null", names));
}

export function neutralText(text: string, { pod, place, facts }: Named): string {
  const { metadata, status } = pod;
  let neutral = text.replaceAll(metadata?.uid ?? "?", "<uid>");
  neutral = facts.neutral(neutral);
  for (const address of [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)]) {
    if (address !== undefined && address !== status?.hostIP)
      neutral = neutral.replaceAll(whole(address), "<pod address>");
  }
  if (status?.hostIP !== undefined) neutral = neutral.replaceAll(whole(status.hostIP), "<node address>");
  for (const [rule, instead] of RULES) neutral = neutral.replaceAll(rule, instead);
  return neutral
    .replaceAll(new RegExp(`(?<=[a-z0-9])-${place.node}${WORD_ENDS}`, "g"), "-<node>")
    .replaceAll(new RegExp(`\\b${place.node}${WORD_ENDS}`, "g"), "<node>");
}

/** In names of directories an underscore follows the pod's name. */
const WORD_ENDS = "(?![A-Za-z0-9])";

const whole = (address: string): RegExp => new RegExp(`(?<![0-9.])${address.replaceAll(".", "\\.")}(?![0-9])`, "g");

const TOKEN = /\beyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g;

/** Who may use the token, where and for how long, instead of its bytes. */
function claimsOf(token: string): string {
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")) as {
    readonly exp: number;
    readonly iat: number;
    readonly nbf: number;
    readonly "kubernetes.io"?: { readonly warnafter?: number };
  };
  const { exp, iat, nbf, "kubernetes.io": bound, ...others } = claims;
  const warnsAfter = bound?.warnafter === undefined ? {} : { warnafter: bound.warnafter - iat };
  const shown = { ...others, lifeSeconds: exp - iat, notBefore: nbf - iat, bound: { ...bound, ...warnsAfter } };
  return `<token ${JSON.stringify(sorted({ ...shown, jti: "<chance>" }))}>`;
}
