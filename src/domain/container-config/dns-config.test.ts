import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { pod } from "../../../test/support/pods.ts";
import type { PodSpec } from "../../api/gen/core-v1.ts";
import { type DnsSettings, podDns } from "./dns-config.ts";
import { parseResolverFile } from "./resolver-file.ts";
import { resolverFileTrouble } from "./resolver-limits.ts";

const HOST = { servers: ["192.0.2.53"], searches: ["example", "corp.example"], options: ["timeout:1", "rotate"] };
const SETTINGS: DnsSettings = {
  clusterDns: ["198.19.0.10"],
  clusterDomain: "cluster.local",
  host: HOST,
  nodeIps: [],
};
const OF_CLUSTER = ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local"];

const dns = (spec: Partial<PodSpec>, settings: Partial<DnsSettings> = {}) =>
  podDns(pod(spec, { namespace: "shop" }), { ...SETTINGS, ...settings });
const config = (spec: Partial<PodSpec>, settings: Partial<DnsSettings> = {}) => {
  const made = dns(spec, settings);
  assert.deepEqual(made.warnings, []);
  return made.config;
};

test("[24.1] ClusterFirst gives the cluster's server, its domains before the host's, and no options of the host", () => {
  const wanted = { servers: ["198.19.0.10"], searches: [...OF_CLUSTER, ...HOST.searches], options: ["ndots:5"] };
  assert.deepEqual(config({}), wanted);
  assert.deepEqual(config({ dnsPolicy: "ClusterFirst" }), wanted);
  assert.deepEqual(config({ dnsPolicy: "ClusterFirstWithHostNet", hostNetwork: true }), wanted);
  assert.deepEqual(config({ dnsPolicy: "Unheard" }), wanted, "a policy that nobody knows is the usual one");
});

test("[24.1] a search domain of cluster and host appears once; without a cluster domain only the host's remain", () => {
  const host = { ...HOST, searches: ["cluster.local", "example"] };
  assert.deepEqual(config({}, { host }).searches, [...OF_CLUSTER, "example"]);
  assert.deepEqual(config({}, { clusterDomain: "" }).searches, HOST.searches);
});

test("[24.1] a pod with hostNetwork has the node's resolver, by default and with ClusterFirst", () => {
  assert.deepEqual(config({ hostNetwork: true }), HOST);
  assert.deepEqual(config({ dnsPolicy: "ClusterFirst", hostNetwork: true }), HOST);
});

test("[24.1] without clusterDNS the host's resolver is used, and node and pod get a MissingClusterDNS warning", () => {
  const { config, warnings } = dns({}, { clusterDns: [] });
  assert.deepEqual(config, HOST);
  const message =
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
  assert.deepEqual(warnings, [
    { about: "node", reason: "MissingClusterDNS", message },
    {
      about: "pod",
      reason: "MissingClusterDNS",
      message: `pod: "p_shop(11111111-2222-3333-4444-555555555555)". ${message}`,
    },
  ]);
  assert.deepEqual(dns({ dnsPolicy: "Default" }, { clusterDns: [] }).warnings, []);
});

test("[24.2] Default gives the host's resolver, None only the pod's dnsConfig", () => {
  assert.deepEqual(config({ dnsPolicy: "Default" }), HOST);
  assert.deepEqual(config({ dnsPolicy: "None" }), { servers: [], searches: [], options: [] });
  const dnsConfig = { nameservers: ["203.0.113.1"], searches: ["a.example"], options: [{ name: "ndots", value: "2" }] };
  assert.deepEqual(config({ dnsPolicy: "None", dnsConfig }), {
    servers: ["203.0.113.1"],
    searches: ["a.example"],
    options: ["ndots:2"],
  });
});

test("[24.2] the pod's dnsConfig is appended without duplicates, and its options replace those of the same name", () => {
  const dnsConfig = {
    nameservers: ["203.0.113.1", "192.0.2.53"],
    searches: ["corp.example", "mine.example"],
    options: [{ name: "timeout", value: "9" }, { name: "edns0" }, { name: "rotate", value: "" }],
  };
  assert.deepEqual(config({ dnsPolicy: "Default", dnsConfig }), {
    servers: ["192.0.2.53", "203.0.113.1"],
    searches: ["example", "corp.example", "mine.example"],
    options: ["timeout:9", "rotate", "edns0"],
  });
});

test("[24.2] without a host resolver, Default gives loopback of each of the node's IP families and the root domain", () => {
  const none = { host: undefined };
  const local = (servers: readonly string[]) => ({ servers, searches: ["."], options: [] });
  assert.deepEqual(config({ dnsPolicy: "Default" }, none), local(["127.0.0.1"]));
  assert.deepEqual(config({ dnsPolicy: "Default" }, { ...none, nodeIps: ["2001:db8::1"] }), local(["::1"]));
  const both = { ...none, nodeIps: ["192.0.2.1", "2001:db8::1"] };
  assert.deepEqual(config({ dnsPolicy: "Default" }, both), local(["127.0.0.1", "::1"]));
  assert.deepEqual(config({}, none).searches, OF_CLUSTER, "with a cluster's there is none of it");
});

test("[24.3] a fourth nameserver is left out, and a warning on the pod lists those in use", () => {
  const dnsConfig = { nameservers: ["203.0.113.1", "203.0.113.2", "203.0.113.3"] };
  const { config, warnings } = dns({ dnsConfig });
  assert.deepEqual(config.servers, ["198.19.0.10", "203.0.113.1", "203.0.113.2"]);
  const message =
    "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 198.19.0.10 203.0.113.1 203.0.113.2";
  assert.deepEqual(warnings, [{ about: "pod", reason: "DNSConfigForming", message }]);
});

const searched = (searches: readonly string[]) => dns({ dnsPolicy: "None", dnsConfig: { searches } });
const cutTo = (searches: readonly string[]) => [
  {
    about: "pod",
    reason: "DNSConfigForming",
    message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(" ")}`,
  },
];

test("[24.3] search domains are limited to 32, to 253 characters each and to 2048 characters in all", () => {
  const many = Array.from({ length: 33 }, (_, index) => `d${index}`);
  assert.deepEqual(searched(many.slice(0, 32)).warnings, []);
  assert.deepEqual(searched(many), {
    config: { servers: [], searches: many.slice(0, 32), options: [] },
    warnings: cutTo(many.slice(0, 32)),
  });
  const [fits, long] = ["f".repeat(253), "l".repeat(254)];
  assert.deepEqual(searched(["a", long, fits]).config.searches, ["a", fits]);
  assert.deepEqual(searched(["a", long, fits]).warnings, cutTo(["a", fits]));
  const wide = Array.from({ length: 9 }, (_, index) => `${index}`.padEnd(227, "w"));
  const whole = [...wide.slice(0, 8), "e".repeat(2048 - 8 * 228)];
  assert.equal(whole.join(" ").length, 2048);
  assert.deepEqual(searched(whole).warnings, []);
  assert.deepEqual(searched([...whole.slice(0, 8), `${whole[8]}e`]).config.searches, whole.slice(0, 8));
});

test("[24.3] any kept search domains fit the limits in their original order, and a dropped one causes a warning", () => {
  const search = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(fc.uniqueArray(search, { maxLength: 40 }), (searches) => {
      const { config, warnings } = searched(searches);
      assert.ok(config.searches.length <= 32 && config.searches.join(" ").length <= 2048);
      assert.ok(config.searches.every(({ length }) => length <= 253));
      assert.deepEqual(
        config.searches,
        searches.filter((each) => config.searches.includes(each)),
      );
      assert.equal(warnings.length > 0, config.searches.length < searches.length);
    }),
  );
});

const parsed = (text: string) => {
  const file = parseResolverFile(text);
  return file.kind === "parsed" ? file.config : file.message;
};

test("[24.2] a resolver file's nameservers accumulate; the last search line and the last option of a name win", () => {
  const text = `# comment
; another
nameserver 192.0.2.1 trailing
  nameserver\t2001:db8::1
#nameserver 192.0.2.9
domain ignored.example
search one two
search three.example. . four
options ndots:1 rotate
options ndots:2
`;
  assert.deepEqual(parsed(text), {
    servers: ["192.0.2.1", "2001:db8::1"],
    searches: ["three.example", "four"],
    options: ["ndots:2", "rotate"],
  });
  assert.deepEqual(parsed(""), { servers: [], searches: [], options: [] });
  assert.deepEqual(parsed("search .\nsearch\n"), { servers: [], searches: [], options: [] });
  assert.equal(parsed("nameserver 192.0.2.1\nnameserver\n"), "nameserver list is empty ");
});

test("[24.3] one trailing dot of a search domain is cut, and a lone dot is dropped", () => {
  assert.deepEqual(parseResolverFile("search . a. b.. .\n"), {
    kind: "parsed",
    config: { servers: [], searches: ["a", "b."], options: [] },
  });
});

test("[24.2] any resolver file is parsed or refused, without root domains and duplicate options", () => {
  const word = fc.constantFrom(
    "nameserver",
    "search",
    "options",
    "#",
    "a.b.",
    ".",
    "ndots:5",
    "\n",
    "\r\n",
    "\t",
    "192.0.2.1",
  );
  fc.assert(
    fc.property(fc.array(word), (words) => {
      const file = parseResolverFile(words.join(" "));
      if (file.kind === "refused") return;
      assert.ok(!file.config.searches.includes("."));
      assert.ok(file.config.options.length <= new Set(file.config.options.map((each) => each.split(":")[0])).size);
    }),
    { numRuns: 1_000 },
  );
});

test("[24.3] a search line of the host's resolver file that exceeds the limits for pods is reported", () => {
  const of = (searches: readonly string[], clusterDomain = "cluster.local") =>
    resolverFileTrouble("/etc/resolv.conf", { servers: [], searches, options: [] }, clusterDomain);
  const many = (count: number) => Array.from({ length: count }, (_, index) => `d${index}`);
  assert.deepEqual([of(many(29)), of(many(32), "")], [undefined, undefined]);
  assert.equal(
    of(many(30)),
    "Resolv.conf file '/etc/resolv.conf' contains search line consisting of more than 29 domains!",
  );
  assert.equal(
    of(many(33), ""),
    "Resolv.conf file '/etc/resolv.conf' contains search line consisting of more than 32 domains!",
  );
  assert.equal(
    of(["x".repeat(254)]),
    'Resolv.conf file "/etc/resolv.conf" contains a search path which length is more than allowed 253 chars!',
  );
  assert.equal(
    of(Array.from({ length: 9 }, (_, index) => `${index}`.padEnd(253, "x"))),
    "Resolv.conf file '/etc/resolv.conf' contains search line which length is more than allowed 2048 chars!",
  );
});
