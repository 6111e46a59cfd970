/**
 * Prints what a node costs the API server, as Markdown for docs/scale.md. `npm run api-cost -- hour` takes seconds,
 * `npm run api-cost -- day` a minute or two. The Go kubelet's numbers are constants, not measured here; the document
 * says where they come from.
 */
import { BUSY, type Cost, IDLE, type Load, measure, type Tally } from "./api-cost.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAY_SECONDS = 86_400;
const FLEETS = [5_000, 100_000] as const;

/**
 * Go kubelet v1.36.4, from an audit log: 6 lease updates and about 0.2 other requests per idle minute, and 17 requests
 * per pod that was created and deleted.
 */
const GO_PER_IDLE_MINUTE = 6.2;
const GO_PER_LIFECYCLE = 17;

const LOADS: readonly (readonly [string, Load])[] = [
  ["An idle node", IDLE],
  ["A node with 30 pods, one replaced every 15 minutes", BUSY],
];

export function hourAsMarkdown(): Promise<string> {
  return sections(async (title, load) => {
    const { calls, watchesOpen, lifecycles } = await measure(load, HOUR_MS);
    const rows = sorted(calls).map(
      ([name, { requests, sentBytes, receivedBytes }]) => `| ${name} | ${requests} | ${sentBytes} | ${receivedBytes} |`,
    );
    return [
      `**${title}**, one hour: ${watchesOpen} watches open, ${lifecycles} pods came and went.`,
      "",
      "| call | requests | bytes sent | bytes received |",
      "| --- | ---: | ---: | ---: |",
      ...rows,
    ];
  });
}

export function dayAsMarkdown(): Promise<string> {
  return sections(async (title, load) => {
    const cost = await measure(load, DAY_MS);
    const rows = sorted(cost.calls).map(([name, tally]) => dayRow(name, tally));
    return [
      `**${title}**, one day: ${cost.watchesOpen} watches open, ${cost.lifecycles} pods came and went.`,
      "",
      `| call | requests a day | kB sent | kB received | ${FLEETS.map((nodes) => `${count(nodes)} nodes: requests/s | MB/s`).join(" | ")} |`,
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
      ...rows,
      dayRow("**all**", total([...cost.calls.values()])),
      "",
      goLine(cost.calls, cost.lifecycles),
      "",
      `Watches held open by the API server: ${FLEETS.map((nodes) => `${count(nodes * cost.watchesOpen)} for ${count(nodes)} nodes`).join(", ")}.`,
    ];
  });
}

async function sections(lines: (title: string, load: Load) => Promise<readonly string[]>): Promise<string> {
  const parts = [];
  for (const [title, load] of LOADS) parts.push((await lines(title, load)).join("\n"));
  return `${parts.join("\n\n")}\n`;
}

function dayRow(name: string, { requests, sentBytes, receivedBytes }: Tally): string {
  const fleets = FLEETS.flatMap((nodes) => [
    rate((requests * nodes) / DAY_SECONDS),
    rate(((sentBytes + receivedBytes) * nodes) / DAY_SECONDS / 1e6),
  ]);
  const cells = [name, count(requests), count(sentBytes / 1000), count(receivedBytes / 1000), ...fleets];
  return `| ${cells.join(" | ")} |`;
}

/** Watches are left out on both sides: the audit log was too short to show them reopened. */
function goLine(calls: Cost["calls"], lifecycles: number): string {
  const ours = total([...calls].filter(([name]) => !name.startsWith("watch ")).map(([, tally]) => tally)).requests;
  const go = GO_PER_IDLE_MINUTE * 24 * 60 + GO_PER_LIFECYCLE * lifecycles;
  const rates = FLEETS.map((nodes) => `${rate((go * nodes) / DAY_SECONDS)}/s for ${count(nodes)} nodes`);
  const share = `ours, without watches, are ${count(ours)}, ${((100 * ours) / go).toFixed(0)} % of that`;
  return `The Go kubelet by its measured rates: ${count(go)} requests a day, ${rates.join(", ")}; ${share}.`;
}

function total(tallies: readonly Tally[]): Tally {
  const sum = (of: (tally: Tally) => number) => tallies.reduce((all, tally) => all + of(tally), 0);
  return {
    requests: sum(({ requests }) => requests),
    sentBytes: sum(({ sentBytes }) => sentBytes),
    receivedBytes: sum(({ receivedBytes }) => receivedBytes),
  };
}

/** The most frequent first, then by name. */
const sorted = (calls: Cost["calls"]) =>
  [...calls].sort(([a, { requests }], [b, other]) => other.requests - requests || (a < b ? -1 : 1));

const rate = (perSecond: number): string => (perSecond < 10 ? perSecond.toFixed(2) : count(perSecond));

const count = (value: number): string => String(Math.round(value)).replaceAll(/\B(?=(?:\d{3})+$)/g, " ");
