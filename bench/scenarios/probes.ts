/**
 * Measures what probes cost. Pods that serve run first without probes, then with HTTP probes, TCP probes (B15) and exec
 * probes (B16), each time in new pods: the agent's additional CPU per probe that it sent. Then all pods get all three
 * kinds for a long while: no probe may fail, and probes must not delay the agent's event loop.
 */
import type { Container, PodSpec, Probe } from "../../src/api/gen/core-v1.ts";
import { BUSYBOX_IMAGE } from "../../test/cluster/images.ts";
import { pause } from "../../test/cluster/wait.ts";
import { readExposition } from "../../test/support/exposition.ts";
import type { Figure } from "../candidates.ts";
import { Collector } from "../collector.ts";
import { upAll } from "../kubelet-driver.ts";
import type { Outcome, Stage } from "../pod-driver.ts";
import type { Size } from "../sizes.ts";
import { processCpuMs } from "../usage.ts";

const PORT = 8080;
/** On a machine that is busy with two hundred applications, a late response does not mean an unhealthy container. */
const OFTEN = { periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 10 } as const;
const HTTP: Probe = { ...OFTEN, httpGet: { path: "/", port: PORT } };
const TCP: Probe = { ...OFTEN, tcpSocket: { port: PORT } };
const EXEC: Probe = { ...OFTEN, periodSeconds: 10, exec: { command: ["true"] } };

const serving = (name: string, port: number, probes: Partial<Container>): Container => ({
  name,
  image: BUSYBOX_IMAGE,
  command: ["sh", "-c", `mkdir /www && echo well >/www/index.html && exec httpd -f -p ${port} -h /www`],
  ...probes,
});

const specOf = (...containers: readonly Container[]): Partial<PodSpec> => ({
  terminationGracePeriodSeconds: 1,
  containers: [...containers],
});
const one = (probes: Partial<Container>) => specOf(serving("app", PORT, probes));

export async function probes({ world, driver, label }: Stage, size: Size): Promise<Outcome> {
  const { agent } = driver;
  if (agent === undefined) throw new Error("only an agent sends probes");
  using collector = await Collector.of(world);

  const during = async (name: string, spec: Partial<PodSpec>, countedMs: number) => {
    const names = Array.from({ length: size.probedPods }, (_, index) => `${label}-${name}-${index}`);
    await upAll(world, names, spec);
    await pause(size.settleMs);
    // Resets the event loop delay: delays before the measurement do not count.
    await collector.ask("/metrics");
    const [before, cpuBeforeMs] = [await countsOf(collector), await processCpuMs(agent.pid)];
    await pause(countedMs);
    const [after, cpuAfterMs] = [await countsOf(collector), await processCpuMs(agent.pid)];
    const loopDelayMs = await loopDelayOf(collector);
    await Promise.all(names.map((each) => driver.down(each)));
    await driver.tidy();
    return {
      cpuMs: cpuAfterMs - cpuBeforeMs,
      put: after.put - before.put,
      failed: after.failed - before.failed,
      loopDelayMs,
    };
  };
  const { probesCountedMs, probesTogetherMs } = size;
  const none = await during("unasked", one({}), probesCountedMs);
  const perProbe = async (name: string, container: Partial<Container>) => {
    const { cpuMs, put } = await during(name, one(container), probesCountedMs);
    return (cpuMs - none.cpuMs) / put;
  };
  const http = await perProbe("http", { readinessProbe: HTTP });
  const tcp = await perProbe("tcp", { livenessProbe: TCP });
  const exec = await perProbe("exec", { livenessProbe: EXEC });
  const all = specOf(
    serving("app", PORT, { readinessProbe: HTTP, livenessProbe: TCP }),
    serving("second", PORT + 1, { livenessProbe: EXEC }),
  );
  const together = await during("all", all, probesTogetherMs);
  return {
    figures: [
      { benchmark: "B15", name: "agent, for each HTTP probe", unit: "CPU-ms", value: http },
      { benchmark: "B15", name: "agent, for each TCP probe", unit: "CPU-ms", value: tcp },
      { benchmark: "B16", name: "agent, for each exec probe", unit: "CPU-ms", value: exec },
      ...togetherFigures(together, probesTogetherMs),
    ],
  };
}

function togetherFigures(
  {
    put,
    failed,
    cpuMs,
    loopDelayMs,
  }: Readonly<Record<"put" | "failed" | "cpuMs", number>> & { loopDelayMs?: number | undefined },
  countedMs: number,
): readonly Figure[] {
  return [
    { benchmark: "B15", name: "probes of all kinds", unit: "probes", value: put },
    { benchmark: "B15", name: "probes that failed though all was well", unit: "probes", value: failed },
    { benchmark: "B15", name: "agent, with all kinds", unit: "CPU-s/min", value: (cpuMs * 60) / countedMs },
    ...(loopDelayMs === undefined
      ? []
      : [{ benchmark: "B15", name: "delay of the loop p99", unit: "ms", value: loopDelayMs } as const]),
  ];
}

async function countsOf(collector: Collector): Promise<{ readonly put: number; readonly failed: number }> {
  const { body } = await collector.ask("/metrics/probes");
  const samples = readExposition(body.toString()).get("prober_probe_total")?.samples ?? [];
  const sum = (of: typeof samples) => of.reduce((total, { value }) => total + value, 0);
  return { put: sum(samples), failed: sum(samples.filter(({ labels }) => labels["result"] !== "successful")) };
}

/** The event loop delay since the previous query; undefined when the agent has no such metric. */
async function loopDelayOf(collector: Collector): Promise<number | undefined> {
  const { body } = await collector.ask("/metrics");
  const seconds = readExposition(body.toString()).get("nodejs_eventloop_lag_p99_seconds")?.samples[0]?.value;
  return seconds === undefined ? undefined : seconds * 1000;
}
