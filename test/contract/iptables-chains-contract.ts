/** Contract suite of the IptablesChains port. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { IptablesChains } from "../../src/ports/iptables-chains.ts";

export interface IptablesChainsWorld {
  readonly chains: IptablesChains;
  /** The rules of a chain in the IPv4 filter table, in order. */
  readonly rulesOf: (chain: string) => Promise<readonly string[]>;
}

export function iptablesChainsContract(name: string, begin: () => Promise<IptablesChainsWorld>): void {
  describe(`${name} keeps the contract of the IptablesChains port`, () => {
    test("ensureChain creates a chain once, only in its family and table", async () => {
      const { chains } = await begin();
      assert.ok((await chains.families()).includes("IPv4"));
      assert.equal(await chains.hasChain("IPv4", "nat", "TEST-A"), false);
      await chains.ensureChain("IPv4", "nat", "TEST-A");
      await chains.ensureChain("IPv4", "nat", "TEST-A");
      assert.equal(await chains.hasChain("IPv4", "nat", "TEST-A"), true);
      assert.equal(await chains.hasChain("IPv4", "filter", "TEST-A"), false);
      assert.equal(await chains.hasChain("IPv6", "nat", "TEST-A"), false);
      assert.equal(await chains.hasChain("IPv4", "filter", "INPUT"), true);
    });

    test("ensureRule puts a rule first or last, and keeps the position of an existing one", async () => {
      const { chains, rulesOf } = await begin();
      await chains.ensureChain("IPv4", "filter", "TEST-B");
      const jump = (place: "first" | "last", target: string) =>
        chains.ensureRule("IPv4", { table: "filter", chain: "TEST-B", rule: ["-j", target] }, place);
      await jump("last", "ACCEPT");
      await jump("first", "DROP");
      await jump("last", "RETURN");
      await jump("first", "RETURN");
      await jump("last", "DROP");
      assert.deepEqual(await rulesOf("TEST-B"), ["-j DROP", "-j ACCEPT", "-j RETURN"]);
    });

    test("ensureRule rejects a missing chain", async () => {
      const { chains } = await begin();
      const rule = { table: "filter", chain: "TEST-NONE", rule: ["-j", "DROP"] } as const;
      await assert.rejects(chains.ensureRule("IPv4", rule, "last"), /TEST-NONE/);
    });
  });
}
