/**
 * The iptables chains that a kubelet creates for other components. A hint shows which iptables variant this machine
 * uses. A canary in each table disappears when the table is flushed. A rule protects the machine's loopback addresses
 * from other hosts. The chains are exactly the Go kubelet's, because kube-proxy creates some of them too.
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

/** In the order in which the Go kubelet creates and checks them. */
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
