import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { admissionContext } from "../../../test/support/admission-context.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import { admit } from "./admission.ts";
import { choosePreempted } from "./preemption.ts";
import type { Shortage } from "./resource-fit.ts";

const CRITICAL = 2_000_000_000;
type Amounts = Readonly<Record<string, string>>;

const pod = (name: string, requests: Amounts, limits: Amounts = {}, priority = 0): Pod => ({
  metadata: { name, namespace: "ns", uid: name },
  spec: { priority, containers: [{ name: "c", resources: { requests, limits } }] },
});
const guaranteed = (name: string, amounts: Amounts) => pod(name, amounts, amounts);
const critical = (name: string, requests: Amounts) => pod(name, requests, {}, CRITICAL);
const missing = (...amounts: readonly (readonly [resource: string, amount: bigint])[]): readonly Shortage[] =>
  amounts.map(([resource, requested]) => ({ resource, requested, used: 0n, capacity: 0n }));

const victims = (others: readonly Pod[], short: readonly Shortage[], of = critical("critical", {})) => {
  const chosen = choosePreempted(of, others, short);
  return chosen.kind === "victims" ? chosen.victims.map(({ metadata }) => metadata?.name) : chosen.message;
};

void suite("pods that are preempted for a critical pod", () => {
  test("[5.5] are as few Guaranteed as possible, then as few Burstable, then BestEffort", () => {
    const others = [
      guaranteed("guaranteed", { cpu: "1", memory: "1Gi" }),
      pod("burstable", { cpu: "1" }),
      pod("best-effort", {}),
    ];
    assert.deepEqual(victims(others, missing(["pods", 1n])), ["best-effort"]);
    assert.deepEqual(victims(others, missing(["cpu", 500n])), ["burstable"]);
    assert.deepEqual(victims(others, missing(["cpu", 1500n])), ["burstable", "guaranteed"]);
    assert.deepEqual(victims(others, missing(["pods", 1n], ["cpu", 100n])), ["burstable"]);
    assert.deepEqual(victims(others, missing(["memory", 1n])), ["guaranteed"]);
  });

  test("[5.5] are those whose requests come closest to the shortage, and of equally close ones the smallest", () => {
    const sized = (name: string, cpu: string, memory: string) => pod(name, { cpu, memory });
    const others = [sized("big", "2", "4Gi"), sized("small", "200m", "1Gi"), sized("middle", "1", "2Gi")];
    assert.deepEqual(victims(others, missing(["cpu", 900n])), ["middle"]);
    assert.deepEqual(victims(others, missing(["cpu", 2100n])), ["big", "small"]);
    assert.deepEqual(victims(others, missing(["cpu", 100n])), ["small"]);
    assert.deepEqual(victims(others, missing(["cpu", 100n], ["memory", 3n * 1024n ** 3n])), ["big"]);
    assert.deepEqual(victims([sized("one", "1", "1Gi"), sized("two", "1", "1Gi")], missing(["cpu", 1n])), ["two"]);
  });

  test("[5.5] are critical only for a higher priority; without enough candidates the message is upstream's", () => {
    const others = [critical("critical-too", { cpu: "4" })];
    const message = "no set of running pods found to reclaim resources: [(res: cpu, q: 100), ]";
    assert.equal(victims(others, missing(["cpu", 100n])), message);
    assert.deepEqual(victims(others, missing(["cpu", 100n]), pod("higher", {}, {}, CRITICAL + 1)), ["critical-too"]);
    assert.equal(
      victims([pod("weak", { cpu: "50m" })], missing(["cpu", 100n], ["memory", 7n])),
      "no set of running pods found to reclaim resources: [(res: cpu, q: 50), (res: memory, q: 7), ]",
    );
  });

  test("[5.5] free their overhead and pod-level requests as well", () => {
    const heavy: Pod = {
      ...pod("heavy", { cpu: "1" }),
      spec: { ...pod("", { cpu: "1" }).spec, overhead: { cpu: "500m" } } as never,
    };
    assert.deepEqual(victims([heavy], missing(["cpu", 1500n])), ["heavy"]);
    const whole: Pod = {
      ...pod("whole", {}),
      spec: { priority: 0, resources: { requests: { cpu: "2" } }, containers: [{ name: "c" }] },
    };
    assert.deepEqual(victims([whole], missing(["cpu", 2000n])), ["whole"]);
  });
});

const CONTEXT = admissionContext(
  { metadata: { name: "n1" }, status: { allocatable: { cpu: "4", memory: "8Gi", pods: "10" } } },
  { apparmor: false, declaredFeatures: [] },
);

void suite("a critical pod on a full node", () => {
  const [big, small] = [pod("big", { cpu: "3" }), pod("small", { cpu: "1" })];
  const deferral = (...names: readonly string[]) => ({
    reason: "WaitingForPreemption",
    message: `pods that make room have not ended yet: ${names.map((name) => `ns/${name}`).join(", ")}`,
  });

  test("[5.5] waits until the pods preempted for it have ended, and then is admitted", () => {
    const wanting = critical("wanting", { cpu: "2500m" });
    assert.deepEqual(admit(wanting, { active: [big, small], preempted: [] }, CONTEXT), {
      kind: "preempts",
      victims: [big],
      resource: "cpu",
      deferral: deferral("big"),
    });
    assert.deepEqual(admit(wanting, { active: [small], preempted: [big] }, CONTEXT), {
      kind: "deferred",
      deferral: deferral("big"),
    });
    assert.deepEqual(admit(wanting, { active: [small], preempted: [] }, CONTEXT), { kind: "admitted" });
  });

  test("[5.5] preempts nothing if it is rejected for another reason", () => {
    const elsewhere = critical("elsewhere", { cpu: "4" });
    const selecting: Pod = { ...elsewhere, spec: { containers: [], ...elsewhere.spec, nodeSelector: { zone: "b" } } };
    const verdict = admit(selecting, { active: [big, small], preempted: [] }, CONTEXT);
    assert.deepEqual(
      [verdict.kind, verdict.kind === "rejected" && verdict.rejection.reason],
      ["rejected", "NodeAffinity"],
    );
    const confined: Pod = {
      ...elsewhere,
      spec: { containers: [], ...elsewhere.spec, securityContext: { appArmorProfile: { type: "RuntimeDefault" } } },
    };
    const other = admit(confined, { active: [big, small], preempted: [] }, CONTEXT);
    assert.deepEqual([other.kind, other.kind === "rejected" && other.rejection.reason], ["rejected", "AppArmor"]);
  });

  test("[5.5] is rejected if no preemption could free enough; an ordinary pod preempts nothing", () => {
    const giant = admit(critical("giant", { cpu: "5" }), { active: [big, small], preempted: [] }, CONTEXT);
    assert.deepEqual(giant, {
      kind: "rejected",
      rejection: {
        reason: "UnexpectedAdmissionError",
        message:
          "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]",
      },
    });
    const plain = admit(pod("plain", { cpu: "1" }), { active: [big, small], preempted: [] }, CONTEXT);
    assert.equal(plain.kind === "rejected" && plain.rejection.reason, "OutOfcpu");
  });
});
