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
  ["--node-ip is used", options(["192.0.2.1"]), [], facts, found("192.0.2.1")],
  [
    "--node-ip may have one address of each family",
    options(["192.0.2.1", "fd00::1"]),
    [],
    facts,
    found("192.0.2.1", "fd00::1"),
  ],
  ["the hostname's addresses on this machine are used, IPv4 first", options([]), [], facts, found("192.0.2.2")],
  ["--node-ip :: prefers IPv6", options(["::"]), [], facts, found("fd00::1")],
  ["the default route is used when the hostname does not resolve", options([]), [], unresolved, found("192.0.2.1")],
  ["--node-ip :: prefers the IPv6 default route", options(["::"]), [], unresolved, found("fd00::1")],
  [
    "the other family is used if the preferred one has no address",
    options(["0.0.0.0"]),
    [],
    { ...unresolved, defaultRoutes: { IPv4: undefined, IPv6: "fd00::1" } },
    found("fd00::1"),
  ],
  ["an unspecified second address is ignored", options(["192.0.2.1", "::"]), [], facts, found("192.0.2.1")],
  [
    "a hostname that is an IP address is used",
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
    "an address of no local interface is refused",
    options(["192.0.2.9"]),
    theirs,
    facts,
    trouble(`failed to validate nodeIP: node IP: "192.0.2.9" not found in the host's network interfaces`),
  ],
  [
    "a loopback address is refused",
    options(["127.0.0.1"]),
    [],
    facts,
    trouble("failed to validate nodeIP: nodeIP can't be loopback address"),
  ],
  [
    "a multicast address is refused",
    options(["224.0.0.1"]),
    [],
    facts,
    trouble("failed to validate nodeIP: nodeIP can't be a multicast address"),
  ],
  [
    "a link-local second address is refused",
    options(["192.0.2.1", "fe80::1"]),
    [],
    facts,
    trouble("failed to validate secondaryNodeIP: nodeIP can't be a link-local unicast address"),
  ],
  [
    "a node without any address is an error",
    options([]),
    [],
    { ...unresolved, defaultRoutes: { IPv4: undefined, IPv6: undefined } },
    trouble("can't get ip address of node n1. error: no address by name or default route"),
  ],
  [
    "addresses set by a cloud provider are kept",
    options(["192.0.2.1"], cloud),
    theirs,
    facts,
    { kind: "keep", trouble: undefined },
  ],
  [
    "with a cloud provider --node-ip is used until it sets addresses",
    options(["192.0.2.1"], cloud),
    [],
    facts,
    found("192.0.2.1"),
  ],
  ["with a cloud provider and no --node-ip only the hostname is set", options([], cloud), [], facts, found()],
  [
    "with a cloud provider and --node-ip :: the default route is used",
    options(["::"], cloud),
    [],
    unresolved,
    found("fd00::1"),
  ],
] as const) {
  test(`[3.5] ${name}`, () => assert.deepEqual(nodeAddresses(given, existing, world), want));
}

test("[3.5] the hostname is resolved only where the result matters", () => {
  assert.equal(needsResolving(options([]), []), true);
  assert.equal(needsResolving(options(["::"]), []), true);
  assert.equal(needsResolving(options(["192.0.2.1"]), []), false);
  assert.equal(needsResolving(options([], { hostname: "192.0.2.7" }), []), false);
  assert.equal(needsResolving(options([], cloud), []), false);
  assert.equal(needsResolving(options(["::"], cloud), []), true);
  assert.equal(needsResolving(options(["::"], cloud), theirs), false);
});

test("[3.3] provided-node-ip has the node IPs, and only with an external cloud provider", () => {
  assert.equal(providedNodeIp(options(["192.0.2.1", "fd00::1"], cloud)), "192.0.2.1,fd00::1");
  assert.equal(providedNodeIp(options(["192.0.2.1"], cloud)), "192.0.2.1");
  assert.equal(providedNodeIp(options(["0.0.0.0"], cloud)), undefined);
  assert.equal(providedNodeIp(options(["192.0.2.1"])), undefined);
});
