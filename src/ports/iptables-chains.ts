/** iptables chains in the network namespace of this process. Every call rejects with the tool's error output. */
export type PacketFamily = "IPv4" | "IPv6";
export type PacketTable = "mangle" | "nat" | "filter";

export interface PacketRule {
  readonly table: PacketTable;
  readonly chain: string;
  /** Arguments as iptables takes them. */
  readonly rule: readonly string[];
}

export interface IptablesChains {
  /** The families that rules can be created for; empty if the tool is missing. */
  families(): Promise<readonly PacketFamily[]>;
  hasChain(family: PacketFamily, table: PacketTable, chain: string): Promise<boolean>;
  /** Succeeds if the chain already exists. */
  ensureChain(family: PacketFamily, table: PacketTable, chain: string): Promise<void>;
  /** An existing rule keeps its position. */
  ensureRule(family: PacketFamily, rule: PacketRule, place: "first" | "last"): Promise<void>;
}
