/** The IptablesChains port with iptables chains in memory. */
import type { IptablesChains, PacketFamily, PacketRule, PacketTable } from "../src/ports/iptables-chains.ts";

const BUILT_IN: Readonly<Record<PacketTable, readonly string[]>> = {
  mangle: ["PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"],
  nat: ["PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"],
  filter: ["INPUT", "FORWARD", "OUTPUT"],
};

export class FakeIptablesChains implements IptablesChains {
  usable: readonly PacketFamily[] = ["IPv4", "IPv6"];
  /** Rules by chain, keyed as "IPv4/filter/INPUT". */
  readonly rules = new Map<string, string[]>();
  /** Why no chain can be created or read. */
  trouble: string | undefined;

  constructor() {
    this.flush();
  }

  /** Resets the tables to the built-in chains, as another program might. */
  flush(): void {
    this.rules.clear();
    for (const family of ["IPv4", "IPv6"])
      for (const [table, chains] of Object.entries(BUILT_IN))
        for (const chain of chains) this.rules.set(`${family}/${table}/${chain}`, []);
  }

  async families(): Promise<readonly PacketFamily[]> {
    return this.usable;
  }

  async hasChain(family: PacketFamily, table: PacketTable, chain: string): Promise<boolean> {
    this.#require();
    return this.rules.has(`${family}/${table}/${chain}`);
  }

  async ensureChain(family: PacketFamily, table: PacketTable, chain: string): Promise<void> {
    this.#require();
    const key = `${family}/${table}/${chain}`;
    if (!this.rules.has(key)) this.rules.set(key, []);
  }

  async ensureRule(family: PacketFamily, { table, chain, rule }: PacketRule, place: "first" | "last"): Promise<void> {
    this.#require();
    const rules = this.rules.get(`${family}/${table}/${chain}`);
    if (rules === undefined)
      throw new Error(`iptables -t ${table} -C ${chain}: No chain/target/match by that name. (1)`);
    const text = rule.join(" ");
    if (rules.includes(text)) return;
    if (place === "first") rules.unshift(text);
    else rules.push(text);
  }

  #require(): void {
    if (this.trouble !== undefined) throw new Error(this.trouble);
  }
}
