import assert from "node:assert/strict";
import { test } from "node:test";
import { type IpAddress, parseIp } from "../../base/ip-address.ts";
import { type AddressFacts, type AddressOptions, needsResolving, nodeAddresses, providedNodeIp } from "./addresses.ts";

const ip = (text: string): IpAddress => parseIp(text) ?? assert.fail(text);
const options = (nodeIps: readonly string[], change: Partial<AddressOptions> = {}): AddressOptions => ({
  hostname: "n1",
  nodeIps: nodeIps.map(ip),
  externalCloud: false,
  ...change,
});
const facts: AddressFacts = {
  local: new Set(["192.0.2.1", "192.0.2.2", "fd00::1", "127.0.0.1"]),
  resolved: ["127.0.1.1", "fd00::1", "192.0.2.2"],
  defaultRoutes: { IPv4: "192.0.2.1", IPv6: "fd00::1" },
};
const unresolved: AddressFacts = { ...facts, resolved: [] };
const cloud = { externalCloud: true };
const theirs = [{ type: "ExternalIP", address: "203.0.113.9" }];

const found = (...addresses: readonly string[]) => ({
  kind: "set",
  addresses: [...addresses.map((address) => ({ type: "InternalIP", address })), { type: "Hostname", address: "n1" }],
});
const trouble = (text: string) => ({ kind: "keep", trouble: text });

for (const [name, given, existing, world, want] of [
  ["the operator's address", options(["192.0.2.1"]), [], facts, found("192.0.2.1")],
  ["one address of each family", options(["192.0.2.1", "fd00::1"]), [], facts, found("192.0.2.1", "fd00::1")],
  ["what the name resolves to, IPv4 first, if it is the machine's", options([]), [], facts, found("192.0.2.2")],
  ["IPv6 first when asked for by ::", options(["::"]), [], facts, found("fd00::1")],
  ["the default route when the name says nothing", options([]), [], unresolved, found("192.0.2.1")],
  ["the default route of the family asked for", options(["::"]), [], unresolved, found("fd00::1")],
  [
    "the other family rather than none",
    options(["0.0.0.0"]),
    [],
    { ...unresolved, defaultRoutes: { IPv4: undefined, IPv6: "fd00::1" } },
    found("fd00::1"),
  ],
  ["an unspecified second address is none", options(["192.0.2.1", "::"]), [], facts, found("192.0.2.1")],
  [
    "a name that is an address",
    options([], { hostname: "192.0.2.77" }),
    [],
    facts,
    {
      kind: "set",
      addresses: [
        { type: "InternalIP", address: "192.0.2.77" },
        { type: "Hostname", address: "192.0.2.77" },
      ],
    },
  ],
  [
    "an address that is not here",
    options(["192.0.2.9"]),
    theirs,
    facts,
    trouble(`failed to validate nodeIP: node IP: "192.0.2.9" not found in the host's network interfaces`),
  ],
  [
    "loopback",
    options(["127.0.0.1"]),
    [],
    facts,
    trouble("failed to validate nodeIP: nodeIP can't be loopback address"),
  ],
  [
    "multicast",
    options(["224.0.0.1"]),
    [],
    facts,
    trouble("failed to validate nodeIP: nodeIP can't be a multicast address"),
  ],
  [
    "link-local, as the second",
    options(["192.0.2.1", "fe80::1"]),
    [],
    facts,
    trouble("failed to validate secondaryNodeIP: nodeIP can't be a link-local unicast address"),
  ],
  [
    "nothing anywhere",
    options([]),
    [],
    { ...unresolved, defaultRoutes: { IPv4: undefined, IPv6: undefined } },
    trouble("can't get ip address of node n1. error: no address by name or default route"),
  ],
  ["a cloud's addresses stay", options(["192.0.2.1"], cloud), theirs, facts, { kind: "keep", trouble: undefined }],
  [
    "a cloud that has not spoken yet: the operator's address",
    options(["192.0.2.1"], cloud),
    [],
    facts,
    found("192.0.2.1"),
  ],
  ["a cloud, and no address given: the name alone", options([], cloud), [], facts, found()],
  ["a cloud, and a family given: by the default route", options(["::"], cloud), [], unresolved, found("fd00::1")],
] as const) {
  test(`[3.5] ${name}`, () => assert.deepEqual(nodeAddresses(given, existing, world), want));
}

test("[3.5] the name service is asked only where it decides", () => {
  assert.equal(needsResolving(options([]), []), true);
  assert.equal(needsResolving(options(["::"]), []), true);
  assert.equal(needsResolving(options(["192.0.2.1"]), []), false);
  assert.equal(needsResolving(options([], { hostname: "192.0.2.7" }), []), false);
  assert.equal(needsResolving(options([], cloud), []), false);
  assert.equal(needsResolving(options(["::"], cloud), []), true);
  assert.equal(needsResolving(options(["::"], cloud), theirs), false);
});

test("[3.3] a cloud controller is told the operator's addresses, and nobody else is", () => {
  assert.equal(providedNodeIp(options(["192.0.2.1", "fd00::1"], cloud)), "192.0.2.1,fd00::1");
  assert.equal(providedNodeIp(options(["192.0.2.1"], cloud)), "192.0.2.1");
  assert.equal(providedNodeIp(options(["0.0.0.0"], cloud)), undefined);
  assert.equal(providedNodeIp(options(["192.0.2.1"])), undefined);
});
