/**
 * The chains that a kubelet makes for others: the hint by which they tell which iptables this machine uses, a canary in each table that whoever flushes
 * them takes away, and the rule that keeps strangers from addresses of the machine's own loopback. Exactly the Go kubelet's: kube-proxy makes some too.
 */

export type ChainStep =
  | { readonly kind: "chain"; readonly table: "mangle" | "nat" | "filter"; readonly chain: string }
  | {
      readonly kind: "rule";
      readonly table: "filter";
      readonly chain: string;
      readonly place: "first" | "last";
      readonly rule: readonly string[];
    };

const FIREWALL = "KUBE-FIREWALL";
const CANARY = "KUBE-KUBELET-CANARY";

/** In the order in which the Go kubelet makes and misses them. */
export const CANARIES = (["mangle", "nat", "filter"] as const).map((table) => ({ table, chain: CANARY }));

export function chainSteps(family: "IPv4" | "IPv6"): readonly ChainStep[] {
  const hint: ChainStep = { kind: "chain", table: "mangle", chain: "KUBE-IPTABLES-HINT" };
  const canaries = CANARIES.map((canary): ChainStep => ({ kind: "chain", ...canary }));
  return [hint, ...(family === "IPv4" ? FIREWALL_STEPS : []), ...canaries];
}

const jump = (chain: string): ChainStep => ({
  kind: "rule",
  table: "filter",
  chain,
  place: "first",
  rule: ["-j", FIREWALL],
});

const LOOPBACK = "127.0.0.0/8";
const COMMENT = ["-m", "comment", "--comment", "block incoming localnet connections"];
const UNKNOWN = ["-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT"];

const FIREWALL_STEPS: readonly ChainStep[] = [
  { kind: "chain", table: "filter", chain: FIREWALL },
  jump("OUTPUT"),
  jump("INPUT"),
  {
    kind: "rule",
    table: "filter",
    chain: FIREWALL,
    place: "last",
    rule: [...COMMENT, "--dst", LOOPBACK, "!", "--src", LOOPBACK, ...UNKNOWN, "-j", "DROP"],
  },
];
