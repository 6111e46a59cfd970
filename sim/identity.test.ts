/**
 * A node's certificates in virtual time: a year of rotation, late approvals, denials, outages, clock jumps, and a kill
 * at every call.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { leases } from "../src/api/resources.ts";
import { errorText } from "../src/base/error-text.ts";
import { pairOf } from "../src/controllers/identity/certificate-store.ts";
import { certificateFacts, requestFacts } from "../src/domain/identity/x509-read.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { FakeKeys } from "./fake-keys.ts";
import { CLIENT, IdentityWorld, type IdentityWorldOptions, PKI, SERVING } from "./identity-world.ts";
import type { Fault, PortCall } from "./port-calls.ts";
import { SeededRandom } from "./seeded-random.ts";
import { entryAt, textOf } from "./workload/disk-view.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const approvedAfter = (afterMs: number) => () => ({ verdict: "Approved", afterMs }) as const;
const soon = approvedAfter(300);

const make = (options: Partial<IdentityWorldOptions>) =>
  new IdentityWorld({ lifeMs: 90 * DAY, decide: soon, ...options });

const served = ({ cells }: IdentityWorld) => certificateFacts(cells?.servingCertificate.value?.certificatePem ?? "")[0];
const isServedByCluster = (world: IdentityWorld) => served(world)?.issuer.commonName === "simulated-ca";
/** Restarts the agent with the wall clock 400 days ahead. */
const startAhead = ({ world, node, agent }: IdentityWorld) => {
  node.crash();
  world.clock.jumpWall(400 * DAY);
  node.start(agent);
};
const onDisk = ({ node }: IdentityWorld, name: string) => {
  const file = entryAt(node.files.disk, `${PKI}/${name}`);
  return file?.kind === "file" ? textOf(file) : undefined;
};
const keyOf = ({ spec }: { spec: { request: string } }) =>
  requestFacts(Buffer.from(spec.request, "base64").toString())?.publicKeyDer;
const failure = ({ node }: IdentityWorld) => (node.failure === undefined ? "" : errorText(node.failure.error));

describe("certificates of a node in virtual time", () => {
  test("[2.2] [2.3] client and serving certificates rotate at 70 to 90 % of their lifetime over a year, and none is used after it expires", async () => {
    const world = make({});
    await world.world.advance(365 * DAY);
    assert.ok(world.shown.length >= 5 && world.shown.length <= 6, `${world.shown.length} in a year`);
    for (const [index, { pair }] of world.shown.slice(1).entries()) {
      const old = world.shown[index]?.pair.facts ?? assert.fail();
      const share = (pair.facts.notBeforeWallMs - old.notBeforeWallMs) / (90 * DAY);
      assert.ok(share > 0.7 && share < 0.901, `renewed at ${share} of its life`);
    }
    assert.ok(world.isKnown && isServedByCluster(world));
    assert.equal(world.requests(CLIENT).length, world.shown.length);
    assert.equal(world.cells?.servingState.value.rotationAges.count, world.requests(SERVING).length - 1);
    assert.deepEqual([failure(world), world.node.lives], ["", 1]);
  });

  test("[2.1] [27.4.7] an approval after two hours needs one CSR: the first, which the agent waits for again and again", async () => {
    const world = make({ decide: approvedAfter(2 * HOUR) });
    await world.world.advance(2 * HOUR + MINUTE);
    assert.ok(world.isKnown);
    assert.equal(world.requests(CLIENT).length, 1);
    assert.equal(onDisk(world, "kubelet-client.key.tmp"), undefined);
    assert.ok(
      (world.cells?.clientCertificate.value.renewErrors ?? 0) >= 7,
      "each quarter of an hour counts as a failure",
    );
  });

  test("[2.1] a denied CSR is followed by one with another key, with the Go kubelet's back-off", async () => {
    let denials = 0;
    const at: number[] = [];
    const world: IdentityWorld = make({
      decide: ({ spec }) => {
        if (spec.signerName !== CLIENT) return undefined;
        at.push(world.world.clock.monotonicMs());
        denials += 1;
        return { verdict: denials <= 6 ? "Denied" : "Approved", afterMs: 1 };
      },
    });
    await world.world.advance(3 * MINUTE);
    assert.ok(world.isKnown);
    const keys = new Set(world.requests(CLIENT).map((request) => String(keyOf(request))));
    assert.equal(keys.size, 7);
    const pauses = at.slice(1).map((ms, index) => (ms - (at[index] ?? 0)) / SECOND);
    const [a = 0, b = 0, c = 0, d = 0, ...later] = pauses;
    for (const [pause, atLeast] of [
      [a, 2],
      [b, 4],
      [c, 8],
      [d, 16],
    ] as const)
      assert.ok(pause >= atLeast && pause < atLeast * 1.1 + 0.2, pauses.join());
    assert.deepEqual(later.map(Math.round), [32, 32]);
  });

  test("[2.2] rotation retries until an unreachable API server is back; nothing else changes", async () => {
    const world = make({ lifeMs: 10 * DAY });
    await world.world.advance(6.9 * DAY);
    world.world.api.leave();
    await world.world.advance(2.2 * DAY);
    assert.deepEqual([world.shown.length, failure(world)], [1, ""]);
    world.world.api.comeBack();
    await world.world.advance(MINUTE);
    assert.equal(world.shown.length, 2);
    assert.ok(world.isKnown);
  });

  test("[2.2] the process exits after five minutes without a valid certificate while the API server responds", async () => {
    const world = make({ decide: () => undefined });
    world.tokenIsGood = false;
    await world.world.advance(4 * MINUTE + 50 * SECOND);
    assert.equal(failure(world), "");
    await world.world.advance(MINUTE);
    assert.match(failure(world), /No valid client certificate is found and the server is responsive/);
    // The operator who restarts the agent provides another token.
    world.tokenIsGood = true;
    world.world.api.signCertificates({ lifeMs: DAY, decide: soon });
    world.node.start(world.agent);
    await world.world.advance(MINUTE);
    assert.ok(world.isKnown);
  });

  test("[2.2] a certificate that expires during an outage does not end the process before the API server is back", async () => {
    const world = make({ lifeMs: HOUR });
    await world.world.advance(30 * MINUTE);
    world.world.api.leave();
    world.tokenIsGood = false;
    await world.world.advance(5 * HOUR);
    assert.equal(failure(world), "");
    world.world.api.comeBack();
    await world.world.advance(2 * MINUTE);
    assert.match(failure(world), /No valid client certificate/);
  });

  test("[2.1] [2.2] an expired certificate is replaced with the help of the bootstrap token while that is valid", async () => {
    const world = make({ lifeMs: HOUR });
    await world.world.advance(30 * MINUTE);
    world.world.api.leave();
    await world.world.advance(5 * HOUR);
    world.world.api.comeBack();
    await world.world.advance(2 * MINUTE);
    assert.deepEqual([world.isKnown, failure(world)], [true, ""]);
  });

  test("a forward clock jump rotates within a thousandth of the lifetime; a backward jump rotates nothing", async () => {
    const world = make({});
    await world.world.advance(DAY);
    world.world.clock.jumpWall(-40 * DAY);
    await world.world.advance(HOUR);
    assert.equal(world.requests(CLIENT).length, 1);
    world.world.clock.jumpWall(40 * DAY + 84 * DAY);
    await world.world.advance(HOUR);
    // With its clock ahead of the signer's, the Go kubelet sends a request every second from here on.
    assert.equal(world.requests(CLIENT).length, 2);
    await world.world.advance(3 * HOUR);
    assert.ok(world.requests(CLIENT).length <= 5);
  });

  test("a certificate issued while the clock was ahead rotates on schedule once the clock is corrected", async () => {
    const world = make({});
    await world.world.advance(DAY);
    startAhead(world);
    await world.world.advance(MINUTE);
    world.world.clock.jumpWall(-400 * DAY);
    const before = world.requests(CLIENT).length;
    assert.equal(before, 2, "granted while it was ahead");
    await world.world.advance(100 * DAY);
    assert.ok(world.requests(CLIENT).length > before, "renewed since");
    assert.deepEqual([world.isKnown, failure(world)], [true, ""]);
  });

  test("[2.3] no further serving CSR is created after the Node is deleted, and one is created once the Node is back", async () => {
    const world = make({ decide: ({ spec }) => (spec.signerName === CLIENT ? soon() : undefined) });
    await world.world.advance(MINUTE);
    const before = world.requests(SERVING).length;
    world.cells?.ownNode.set({ kind: "absent" });
    await world.world.advance(HOUR);
    assert.ok(world.requests(SERVING).length <= before + 1);
    world.moveTo("198.18.0.7");
    await world.world.advance(MINUTE);
    const last = world.requests(SERVING).at(-1);
    const asked = requestFacts(Buffer.from(last?.spec.request ?? "", "base64").toString());
    assert.deepEqual(asked?.ipAddresses, ["198.18.0.7"]);
  });

  test("[2.3] a certificate that only seemed expired is served again once the clock is corrected", async () => {
    let approves = true;
    const world = make({
      decide: ({ spec }) => (spec.signerName === CLIENT || approves ? soon() : undefined),
    });
    await world.world.advance(HOUR);
    assert.equal(isServedByCluster(world), true);
    approves = false;
    startAhead(world);
    await world.world.advance(MINUTE);
    assert.equal(isServedByCluster(world), false);
    world.world.clock.jumpWall(-400 * DAY);
    await world.world.advance(20 * SECOND);
    assert.equal(isServedByCluster(world), true);
  });

  test("[2.3] serves a self-signed certificate until the CSR is approved, and again after the cluster's certificate expires", async () => {
    let approves = true;
    const world = make({
      lifeMs: HOUR,
      decide: ({ spec }) =>
        spec.signerName === CLIENT ? soon() : approves ? { verdict: "Approved", afterMs: 10 * MINUTE } : undefined,
    });
    await world.world.advance(9 * MINUTE);
    assert.equal(isServedByCluster(world), false);
    assert.deepEqual(served(world)?.dnsNames, ["n1"]);
    await world.world.advance(2 * MINUTE);
    assert.equal(isServedByCluster(world), true);
    approves = false;
    await world.world.advance(2 * HOUR);
    assert.equal(isServedByCluster(world), false, "its time has passed, and nobody approved another");
  });

  test("[2.3] changed node addresses create a new serving CSR at once, even while an earlier CSR waits", async () => {
    const world = make({ decide: ({ spec }) => (spec.signerName === CLIENT ? soon() : undefined) });
    await world.world.advance(MINUTE);
    world.moveTo("198.18.0.6");
    await world.world.advance(5 * SECOND);
    const [, second, ...more] = world.requests(SERVING);
    assert.deepEqual(more, []);
    const asked = requestFacts(Buffer.from(second?.spec.request ?? "", "base64").toString());
    assert.deepEqual(asked?.ipAddresses, ["198.18.0.6"]);
    world.signer.decide(second?.metadata?.name ?? "", "Approved");
    await world.world.advance(5 * SECOND);
    assert.deepEqual(served(world)?.ipAddresses, ["198.18.0.6"]);
    world.moveTo("198.18.0.6", "fd00::6");
    await world.world.advance(5 * SECOND);
    assert.equal(world.requests(SERVING).length, 3);
    world.moveTo("198.18.0.6");
    await world.world.advance(5 * SECOND);
    assert.equal(
      world.requests(SERVING).length,
      3,
      "the certificate it has names the address, and the wish for more is gone",
    );
  });

  test("a kubelet started without a certificate registers once it has one, and renews its Lease over ten rotations", async () => {
    const world = make({ lifeMs: 6 * MINUTE, whole: true });
    const renewedAt = () => {
      const lease = [...world.world.api.store.values(kindOf(leases))].find(({ metadata }) => metadata.name === "n1");
      const time = lease?.spec?.["renewTime"];
      return typeof time === "string" ? Date.parse(time) : 0;
    };
    await world.world.advance(30 * SECOND);
    for (let minute = 0; minute < 60; minute += 1) {
      await world.world.advance(MINUTE);
      const silentMs = world.world.api.wallMs() - renewedAt();
      assert.ok(silentMs < 30 * SECOND, `after ${minute} minutes the last heartbeat is ${silentMs} ms old`);
    }
    assert.ok(world.shown.length >= 10, `${world.shown.length} certificates`);
    assert.deepEqual([failure(world), world.node.lives], ["", 1]);
  });
});

describe("a node killed while it requests and renews its certificates", () => {
  const options = { lifeMs: 2 * MINUTE, decide: approvedAfter(2 * SECOND) };
  const LASTS_MS = 110 * SECOND;
  const keys = new FakeKeys(new SeededRandom("reader"));

  async function play(crashAt: number, effect: "none" | "done") {
    let calls = 0;
    const plan = (call: PortCall): Fault | undefined => {
      if (call.life !== 1) return undefined;
      calls += 1;
      return calls === crashAt ? { kind: "crash", effect } : undefined;
    };
    const world = new IdentityWorld({ ...options, plan });
    for (let ms = 0; ms < LASTS_MS; ms += SECOND) {
      await world.world.advance(SECOND);
      // At every moment the link leads to a complete pair, or there is no link yet.
      const current = onDisk(world, "kubelet-client-current.pem");
      if (current !== undefined) pairOf(keys, current, current);
      const waiting = world
        .undecided(CLIENT)
        .filter(({ metadata }) => metadata?.name?.startsWith("node-csr-") === true);
      assert.ok(waiting.length <= 1, "one first request at a time");
    }
    return { world, calls };
  }

  test("[27.1.4] [27.1.7] killed at every call, before and after its effect: no key is lost, one first CSR, and a valid certificate in the end", async () => {
    const { calls } = await play(0, "none");
    assert.ok(calls > 30, `${calls} calls`);
    for (let call = 1; call <= calls; call += 1) {
      for (const effect of ["none", "done"] as const) {
        const { world } = await play(call, effect);
        const where = `killed at call ${call}, ${effect === "none" ? "before" : "after"} its effect`;
        assert.equal(world.node.lives, 2, where);
        assert.ok(world.isKnown && isServedByCluster(world), where);
        const first = world.requests(CLIENT).filter(({ metadata }) => metadata?.name?.startsWith("node-csr-") === true);
        assert.equal(first.length, 1, where);
      }
    }
  });
});
