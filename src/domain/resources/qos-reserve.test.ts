import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Pod } from "../../api/gen/core-v1.ts";
import { parseQosReserved, qosMemoryLimits } from "./qos-reserve.ts";

const GIB = 2n ** 30n;

/** Guaranteed if it has limits, otherwise Burstable; BestEffort without memory. */
const pod = (memory: string | undefined, { limited = false, phase = "Running" } = {}): Pod => {
  const requests = memory === undefined ? {} : { cpu: "1", memory };
  return {
    spec: { containers: [{ name: "a", resources: { requests, ...(limited && { limits: requests }) } }] },
    status: { phase },
  };
};

const limits = (pods: readonly Pod[], percentage: bigint, allocatableBytes = 8n * GIB): Record<string, bigint> =>
  Object.fromEntries(
    qosMemoryLimits(pods, percentage, allocatableBytes).map(([name, bytes]) => [name.at(-1) ?? "", bytes]),
  );

void suite("memory that is reserved per QoS class", () => {
  const pods = [
    pod("2Gi", { limited: true }),
    pod("1Gi", { limited: true }),
    pod("1Gi"),
    pod("512Mi"),
    pod(undefined),
    pod("4Gi", { limited: true, phase: "Succeeded" }),
  ];

  test("[14.15] requests of Guaranteed pods lower both limits, those of Burstable pods the one of BestEffort", () => {
    assert.deepEqual(limits(pods, 100n), { burstable: 5n * GIB, besteffort: 5n * GIB - (3n * GIB) / 2n });
    assert.deepEqual(limits(pods, 50n), { burstable: (13n * GIB) / 2n, besteffort: (23n * GIB) / 4n });
    assert.deepEqual(limits(pods, 0n), { burstable: 8n * GIB, besteffort: 8n * GIB });
  });

  test("[14.15] a reserved part of a byte is dropped in each class", () => {
    assert.deepEqual(limits([pod("101", { limited: true }), pod("101")], 99n, 1000n), {
      burstable: 901n,
      besteffort: 802n,
    });
  });

  test("[14.15] nothing is limited without allocatable memory", () => assert.deepEqual(limits(pods, 100n, 0n), {}));

  for (const [text, percentage] of [
    ["0%", 0n],
    ["100%", 100n],
    ["+007%%", 7n],
    ["-0%", 0n],
  ] as const)
    test(`[14.15] memory=${text} is accepted`, () => assert.equal(parseQosReserved({ memory: text }), percentage));

  test("[14.15] without a setting nothing is reserved", () => assert.equal(parseQosReserved({}), undefined));

  const percentage = (text: string, why: string) =>
    `failed to parse percentage "${text}" for "memory" resource: ${why}`;
  for (const [setting, fault] of [
    [{ cpu: "10%" }, 'cannot reserve "cpu" resource'],
    [{ memory: "10" }, percentage("10", "percentage expected, got '10'")],
    [{ memory: "x%" }, percentage("x%", "invalid number in percentage 'x%'")],
    [{ memory: "%" }, percentage("%", "invalid number in percentage '%'")],
    [{ memory: "1.5%" }, percentage("1.5%", "invalid number in percentage '1.5%'")],
    [{ memory: "101%" }, percentage("101%", "percentage must be between 0 and 100")],
    [{ memory: "-1%" }, percentage("-1%", "percentage must be between 0 and 100")],
    [{ memory: `${10n ** 19n}%` }, percentage(`${10n ** 19n}%`, `invalid number in percentage '${10n ** 19n}%'`)],
  ] as const)
    test(`[14.15] ${JSON.stringify(setting)} is rejected`, () =>
      assert.throws(() => parseQosReserved(setting), { message: fault }));
});
