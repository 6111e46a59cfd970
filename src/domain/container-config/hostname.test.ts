import assert from "node:assert/strict";
import { test } from "node:test";
import { pod } from "../../../test/support/pods.ts";
import type { PodSpec } from "../../api/gen/core-v1.ts";
import { podHostname } from "./hostname.ts";

const nameOf = (spec: Partial<PodSpec>, name = "web") => {
  const found = podHostname(pod(spec, { name }), { clusterDomain: "cluster.local", overrides: true });
  return found.kind === "known" ? found.hostname : `refused: ${found.message}`;
};

test("[7.27] the hostname is the pod's name, cut to 63 characters without a trailing dash or dot", () => {
  assert.equal(nameOf({}), "web");
  assert.equal(nameOf({}, `${"a".repeat(62)}-tail`), "a".repeat(62));
  assert.equal(nameOf({}, `${"a".repeat(61)}.-tail`), "a".repeat(61));
});

test("[7.27] spec.hostname replaces the pod's name, and hostnameOverride replaces both if it is enabled", () => {
  assert.equal(nameOf({ hostname: "other" }), "other");
  const all = { hostname: "other", subdomain: "sub", setHostnameAsFQDN: true, hostnameOverride: "over.ride" };
  assert.equal(nameOf(all), "over.ride");
  assert.equal(nameOf({ hostnameOverride: `${"a".repeat(62)}.tail` }), "a".repeat(62), "cut like a pod's name");
  assert.match(
    nameOf({ hostnameOverride: "No" }),
    /^refused: pod HostnameOverride "No" is not a valid DNS subdomain: /,
  );
  const ignored = podHostname(pod(all), { clusterDomain: "cluster.local", overrides: false });
  assert.equal(ignored.kind === "known" && ignored.hostname, "other.sub.default.svc.cluster.local");
});

test("[24.4] the hosts file gets the short name and the domain, whatever the kernel's hostname is", () => {
  const hosts = (spec: Partial<PodSpec>) => {
    const { kind: _, ...names } = podHostname(pod(spec), { clusterDomain: "cluster.local", overrides: true });
    return names;
  };
  const domain = "sub.default.svc.cluster.local";
  assert.deepEqual(hosts({ subdomain: "sub" }), { hostname: "p", short: "p", domain });
  assert.deepEqual(hosts({ subdomain: "sub", setHostnameAsFQDN: true }), {
    hostname: `p.${domain}`,
    short: "p",
    domain,
  });
  assert.deepEqual(hosts({ hostname: "h" }), { hostname: "h", short: "h", domain: "" });
  assert.deepEqual(hosts({ hostnameOverride: "o", subdomain: "sub" }), { hostname: "o", short: "o", domain: "" });
  assert.match(JSON.stringify(hosts({ hostname: "A" })), /pod Hostname \\"A\\" is not a valid DNS label: /);
  assert.match(
    JSON.stringify(hosts({ subdomain: "a.b" })),
    /pod Subdomain \\"a.b\\" is not a valid DNS label: must not contain dots/,
  );
});

test("[7.27] setHostnameAsFQDN gives the full domain name, which is refused above 64 characters", () => {
  assert.equal(nameOf({ subdomain: "sub", setHostnameAsFQDN: true }), "web.sub.default.svc.cluster.local");
  assert.equal(nameOf({ setHostnameAsFQDN: true }), "web", "without a subdomain there is none");
  const rest = ".sub.default.svc.cluster.local";
  const fits = "a".repeat(64 - rest.length);
  assert.equal(nameOf({ hostname: fits, subdomain: "sub", setHostnameAsFQDN: true }), `${fits}${rest}`);
  assert.match(
    nameOf({ hostname: `${fits}a`, subdomain: "sub", setHostnameAsFQDN: true }),
    /^refused: .* is too long \(64 characters is the max, 65 characters requested\)$/,
  );
});
