import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dnsLabelTroubles,
  dnsSubdomainTroubles,
  headerNameTroubles,
  labelKeyTroubles,
  labelValueTroubles,
  portNameTroubles,
  portNumberTroubles,
  variableNameTroubles,
} from "./names.ts";

type Rule = (name: string) => readonly string[];

const rules: readonly (readonly [string, Rule, readonly string[], readonly string[]])[] = [
  [
    "label",
    dnsLabelTroubles,
    ["a", "a-1", "1a", "a".repeat(63)],
    ["", "A", "-a", "a-", "a.b", "a_b", "a".repeat(64), "a\n"],
  ],
  ["subdomain", dnsSubdomainTroubles, ["a", "a.b-c.d", "a".repeat(253)], ["", ".a", "a..b", "A.b", "a".repeat(254)]],
  ["port", portNameTroubles, ["web", "a1", "1a-b"], ["", "WEB", "123", "-a", "a--b", "a".repeat(16)]],
  ["header", headerNameTroubles, ["X-Token"], ["", "a b", "a:"]],
  ["variable", variableNameTroubles, ["A", "a.b-c d", "1"], ["a=b", "ä", "a\n"]],
  [
    "label's key",
    labelKeyTroubles,
    ["a", "A_b.c", "example.com/a"],
    ["", "/a", "a/", "a/b/c", "Example.com/a", "-a", "a".repeat(64)],
  ],
  ["label's value", labelValueTroubles, ["", "a", "A_b.c"], ["-a", "a b", "a".repeat(64)]],
];
for (const [what, rule, good, bad] of rules) {
  test(`valid names pass and invalid ones are reported: ${what}`, () => {
    assert.deepEqual(
      good.filter((name) => rule(name).length > 0),
      [],
    );
    assert.deepEqual(
      bad.filter((name) => rule(name).length === 0),
      [],
    );
  });
}

test("port numbers from 1 to 65535 are valid", () => {
  assert.deepEqual(
    [0, 1, 65_535, 65_536].map((port) => portNumberTroubles(port).length),
    [1, 0, 0, 1],
  );
});

test("length errors name bytes for labels and characters for other names, as in apimachinery v0.36.4", () => {
  const long = "a".repeat(64);
  const says = (troubles: readonly string[], text: string) => assert.ok(troubles.includes(text), troubles.join("\n"));
  says(labelKeyTroubles(long), "name part must be no more than 63 bytes");
  says(labelKeyTroubles(`${"a".repeat(254)}/a`), "prefix part must be no more than 253 bytes");
  says(labelValueTroubles(long), "must be no more than 63 bytes");
  says(labelValueTroubles("ä".repeat(40)), "must be no more than 63 bytes");
  says(dnsLabelTroubles(long), "must be no more than 63 characters");
  says(dnsSubdomainTroubles("a".repeat(254)), "must be no more than 253 characters");
  says(portNameTroubles("a".repeat(16)), "must be no more than 15 characters");
});
