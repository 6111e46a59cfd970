import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeIptablesChains } from "../../../sim/fake-iptables-chains.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { runIptablesChains } from "./iptables-chains.ts";

const MINUTE_MS = 60_000;
const DROP =
  "-m comment --comment block incoming localnet connections --dst 127.0.0.0/8 ! --src 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP";

/** The chains and rules on the host that a kubelet creates. */
const made = (chains: FakeIptablesChains) =>
  [...chains.rules]
    .flatMap(([chain, rules]) => (chain.includes("KUBE-") || rules.length > 0 ? [`${chain}: ${rules.join("; ")}`] : []))
    .toSorted();

const ALL = [
  "IPv4/filter/INPUT: -j KUBE-FIREWALL",
  `IPv4/filter/KUBE-FIREWALL: ${DROP}`,
  "IPv4/filter/KUBE-KUBELET-CANARY: ",
  "IPv4/filter/OUTPUT: -j KUBE-FIREWALL",
  "IPv4/mangle/KUBE-IPTABLES-HINT: ",
  "IPv4/mangle/KUBE-KUBELET-CANARY: ",
  "IPv4/nat/KUBE-KUBELET-CANARY: ",
  "IPv6/filter/KUBE-KUBELET-CANARY: ",
  "IPv6/mangle/KUBE-IPTABLES-HINT: ",
  "IPv6/mangle/KUBE-KUBELET-CANARY: ",
  "IPv6/nat/KUBE-KUBELET-CANARY: ",
];

function world() {
  const chains = new FakeIptablesChains();
  const clock = new ManualClock();
  const log = keptLog();
  const stop = new AbortController();
  const start = () => runIptablesChains({ chains, clock, log }, stop.signal);
  return { chains, clock, log, stop, start };
}

test("[1.16] the hint, canary and firewall chains are created, each once", async () => {
  const { chains, clock, stop, start } = world();
  const ended = start();
  await clock.advance(10 * MINUTE_MS);
  assert.deepEqual(made(chains), ALL);
  stop.abort(new Error("over"));
  await ended;
  assert.equal(clock.timersPending, 0);
});

test("[1.16] flushed chains are created again within a minute", async () => {
  const { chains, clock, log, stop, start } = world();
  const ended = start();
  await clock.advance(1);
  chains.flush();
  await clock.advance(MINUTE_MS);
  assert.deepEqual(made(chains), ALL);
  chains.rules.delete("IPv6/filter/KUBE-KUBELET-CANARY");
  await clock.advance(MINUTE_MS);
  assert.deepEqual(made(chains), ALL);
  assert.equal(log.lines.filter((line) => line.includes("Reloading after iptables flush")).length, 3);
  stop.abort(new Error("over"));
  await ended;
});

test("existing INPUT rules stay, behind the jump to KUBE-FIREWALL", async () => {
  const { chains, clock, stop, start } = world();
  chains.rules.set("IPv4/filter/INPUT", ["-j OTHERS"]);
  const ended = start();
  await clock.advance(1);
  assert.deepEqual(chains.rules.get("IPv4/filter/INPUT"), ["-j KUBE-FIREWALL", "-j OTHERS"]);
  stop.abort(new Error("over"));
  await ended;
});

test("missing or failing iptables is logged, and the loop ends", async () => {
  const { chains, log, start } = world();
  chains.usable = [];
  await start();
  assert.match(
    log.lines.join("\n"),
    /^0 No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain/,
  );
  assert.deepEqual(made(chains), []);
  chains.families = () => Promise.reject(new Error("EACCES"));
  await start();
  assert.match(log.lines.join("\n"), /E Failed to query iptables: EACCES/);
});

test("iptables errors at startup are logged; later errors do not end the loop", async () => {
  const refused = world();
  refused.chains.trouble = "iptables: no";
  await refused.start();
  assert.match(
    refused.log.lines.join("\n"),
    /Failed to initialize iptables rules; some functionality may be missing\./,
  );

  const { chains, clock, log, stop, start } = world();
  const ended = start();
  await clock.advance(1);
  chains.trouble = "locked";
  await clock.advance(MINUTE_MS);
  chains.trouble = undefined;
  chains.flush();
  await clock.advance(MINUTE_MS);
  assert.deepEqual(made(chains), ALL);
  assert.match(log.lines.join("\n"), /Failed to check whether the iptables chains exist: locked/);
  stop.abort(new Error("over"));
  await ended;
});
