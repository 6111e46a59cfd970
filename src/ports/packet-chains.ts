/** Chains of packet rules, as iptables has them, of the network that this process is in. Every call rejects with what the tool said. */
export type PacketFamily = "IPv4" | "IPv6";
export type PacketTable = "mangle" | "nat" | "filter";

export interface PacketRule {
  readonly table: PacketTable;
  readonly chain: string;
  /** In iptables' own words. */
  readonly rule: readonly string[];
}

export interface PacketChains {
  /** Those that rules can be made for here: none where there is no such tool. */
  families(): Promise<readonly PacketFamily[]>;
  hasChain(family: PacketFamily, table: PacketTable, chain: string): Promise<boolean>;
  /** Succeeds where it is there already. */
  ensureChain(family: PacketFamily, table: PacketTable, chain: string): Promise<void>;
  /** Leaves the rule where it is, if the chain has it. */
  ensureRule(family: PacketFamily, rule: PacketRule, place: "first" | "last"): Promise<void>;
}
