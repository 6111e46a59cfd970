import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { memoryOf, namedPod, podStats, statsByUid } from "../../../test/support/eviction-stats.ts";
import { container, pod } from "../../../test/support/pods.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import { parseSoftThresholds, parseThresholds } from "../../app/options/eviction-thresholds.ts";
import type { Observation, Signal } from "../node/pressure.ts";
import { chooseVictims, type VictimInputs } from "./choose-victims.ts";
import { evictionThresholds } from "./thresholds.ts";
import { whatIf } from "./what-if.ts";

const GIB = 2n ** 30n;
const settings = {
  hard: parseThresholds({ "memory.available": "100Mi", "nodefs.available": "10%" }),
  soft: parseSoftThresholds({ "memory.available": "1Gi" }, { "memory.available": "30s" }),
  minReclaims: new Map(),
};
const thresholds = evictionThresholds(settings, { enforcesPods: false, layout: "shared" });
const hard = thresholds.filter(({ signal, graceMs }) => signal === "memory.available" && graceMs === 0);
const soft = thresholds.filter(({ graceMs }) => graceMs > 0);
const measured = (available: bigint): Observation => ({ available, capacity: 8n * GIB, atMonotonicMs: 0 });

const choose = (pods: readonly Pod[], more: Partial<VictimInputs> = {}) =>
  chooseVictims({
    met: hard,
    observations: new Map<Signal, Observation>([["memory.available", measured(0n)]]),
    layout: "shared",
    pods,
    statsOf: statsByUid(
      pods.map(({ metadata }, place) => podStats(metadata?.uid ?? "", { memory: memoryOf(1000 - place) })),
    ),
    maxPodGraceSeconds: 20,
    ...more,
  });

const names = (pods: readonly { readonly pod: Pod }[] | undefined) => pods?.map((one) => one.pod.metadata?.name);

void suite("choice of victims", () => {
  const pods = [
    namedPod("critical", { priority: 2_000_000_000 }),
    pod({}, { name: "static", uid: "static", annotations: { "kubernetes.io/config.source": "file" } }),
    pod({}, { name: "mirror", uid: "mirror", annotations: { "kubernetes.io/config.mirror": "hash" } }),
    namedPod("first"),
    namedPod("second", { containers: [container("app", { resources: { requests: { memory: "500" } } })] }),
  ];

  test("[17.5] critical, static and mirror pods are ranked but never evicted", () => {
    const choice = choose(pods);
    assert.deepEqual(names(choice?.victims), ["first", "second"]);
    assert.deepEqual(
      choice?.ranking.map(({ pod: name, evictable }) => [name, evictable]),
      [
        ["default/static", false],
        ["default/mirror", false],
        ["default/first", true],
        ["default/second", true],
        ["default/critical", false],
      ],
    );
  });

  test("[17.5] the table of candidates has the numbers that decided", () => {
    assert.deepEqual(choose(pods)?.ranking.at(3), {
      pod: "default/second",
      uid: "second",
      priority: 0,
      usage: "996",
      request: "500",
      exceedsRequest: true,
      evictable: true,
    });
    const unknown = choose([namedPod("p")], { statsOf: () => undefined })?.ranking[0];
    assert.equal(unknown !== undefined && "usage" in unknown, false);
  });

  test("[17.6] a hard threshold leaves one second of grace", () => {
    assert.deepEqual(
      choose(pods)?.victims.map(({ reason, graceSeconds }) => [reason, graceSeconds]),
      [
        ["Evicted", 1],
        ["Evicted", 1],
      ],
    );
  });

  test("[17.3] a soft threshold leaves the pod's grace period, at most evictionMaxPodGracePeriod", () => {
    const { terminationGracePeriodSeconds: _, ...spec } = pod().spec ?? { containers: [] };
    const graces = [
      namedPod("long", { terminationGracePeriodSeconds: 100 }),
      namedPod("short", { terminationGracePeriodSeconds: 5 }),
      { ...namedPod("unset"), spec },
    ];
    const choice = choose(graces, { met: soft });
    assert.deepEqual(
      choice?.victims.map(({ pod: { metadata }, graceSeconds }) => [metadata?.name, graceSeconds]),
      [
        ["long", 20],
        ["short", 5],
        ["unset", 20],
      ],
    );
  });

  test("[17.6] each victim has the message of the threshold that is most urgent", () => {
    const [victim] = choose([namedPod("p")], { met: [...hard, ...soft] })?.victims ?? [];
    assert.match(
      victim?.message ?? "",
      /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: 0\. /,
    );
  });

  test("[17.5] nobody is chosen while no threshold is met", () => {
    assert.equal(choose(pods, { met: [] }), undefined);
  });
});

void suite("what if", () => {
  const pods = [namedPod("small"), namedPod("large")];
  const inputs = {
    thresholds,
    observations: new Map<Signal, Observation>([
      ["memory.available", measured(2n * GIB)],
      ["nodefs.available", measured(8n * GIB)],
    ]),
    layout: "shared",
    pods,
    statsOf: statsByUid([podStats("small", { memory: memoryOf(1) }), podStats("large", { memory: memoryOf(2) })]),
    maxPodGraceSeconds: 20,
  } as const;

  test("[17.5] names the victims in order, and the threshold that they would be evicted for", () => {
    const answer = whatIf({ ...inputs, available: new Map([["memory.available", GIB / 2n]]) });
    assert.deepEqual([answer?.threshold, answer?.reclaims], [soft[0], []]);
    assert.deepEqual(names(answer?.victims), ["large", "small"]);
    assert.equal(whatIf({ ...inputs, available: new Map() }), undefined, "enough of everything is available");
  });

  test("[17.4] says what would be removed first", () => {
    const answer = whatIf({ ...inputs, available: new Map([["nodefs.available", 0n]]) });
    assert.deepEqual([answer?.threshold.signal, answer?.reclaims], ["nodefs.available", ["containers", "images"]]);
    assert.deepEqual(whatIf({ ...inputs, available: new Map([["pid.available", 0n]]) }), undefined, "never measured");
  });

  test("[17.5] chooses as an eviction does with the same amounts", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n * GIB }), (available) => {
        const answer = whatIf({ ...inputs, available: new Map([["memory.available", available]]) });
        const observations = new Map(inputs.observations).set("memory.available", measured(available));
        assert.deepEqual(
          names(answer?.victims),
          names(chooseVictims({ ...inputs, observations, met: answer?.met ?? [] })?.victims),
        );
        assert.equal(answer === undefined, available >= GIB);
      }),
    );
  });
});
