/** Reports as files: one test per line, so that two runs can be compared with a diff. */
import { readFileSync, writeFileSync } from "node:fs";
import { fields, list, number, optional, parseJson, record, text } from "../../tools/shape.ts";
import type { Report, RunEnvironment, TestOutcome } from "./results.ts";

/** The files that keep the results of runs, and the files that are written from them. */
export const places = {
  /** The Go kubelet's results on this cluster. */
  baseline: "test/conformance/baseline-go.json",
  /** Deckhand's results, of the last whole runs. */
  latest: "test/conformance/latest-deckhand.json",
  /** Results of the agent that drops its writes of pod status. */
  broken: "test/conformance/broken-deckhand.json",
  explained: "test/conformance/explained.json",
  passing: "test/conformance/passing.txt",
  ciSubset: "test/conformance/ci-subset.txt",
  page: "docs/conformance.md",
  readme: "README.md",
} as const;

export const readReport = (file: string): Report => parseReport(readFileSync(file, "utf8"), file);

export const writeReport = (file: string, report: Report): void => writeFileSync(file, reportText(report));

export function parseReport(source: string, where: string): Report {
  const report = fields(parseJson(source), where);
  const agent = text(report["agent"], `${where}: agent`);
  if (agent !== "go" && agent !== "deckhand") throw new Error(`${where}: there is no agent "${agent}"`);
  const environment = optional(report["environment"], `${where}: environment`, parseEnvironment);
  return {
    agent,
    ...(environment === undefined ? {} : { environment }),
    date: text(report["date"], `${where}: date`),
    runs: number(report["runs"], `${where}: runs`),
    versions: record(report["versions"], `${where}: versions`, text),
    wallSeconds: record(report["wallSeconds"], `${where}: wallSeconds`, number),
    tests: list(report["tests"], `${where}: tests`, parseOutcome),
  };
}

function parseEnvironment(value: unknown, where: string): RunEnvironment {
  const environment = fields(value, where);
  const cgroupVersion = text(environment["cgroupVersion"], `${where}.cgroupVersion`);
  if (cgroupVersion !== "v1" && cgroupVersion !== "v2")
    throw new Error(`${where}: no cgroup version "${cgroupVersion}"`);
  return {
    commit: text(environment["commit"], `${where}.commit`),
    platform: text(environment["platform"], `${where}.platform`),
    cgroupVersion,
    cgroupDriver: text(environment["cgroupDriver"], `${where}.cgroupDriver`),
    nodes: number(environment["nodes"], `${where}.nodes`),
  };
}

function parseOutcome(value: unknown, where: string): TestOutcome {
  const outcome = fields(value, where);
  const failure = optional(outcome["failure"], `${where}.failure`, text);
  const features = (field: "asks" | "waitsFor") => {
    const names = optional(outcome[field], `${where}.${field}`, (value, at) => list(value, at, text));
    return names === undefined ? {} : { [field]: names };
  };
  return {
    name: text(outcome["name"], `${where}.name`),
    passes: number(outcome["passes"], `${where}.passes`),
    fails: number(outcome["fails"], `${where}.fails`),
    seconds: number(outcome["seconds"], `${where}.seconds`),
    ...(failure === undefined ? {} : { failure }),
    ...features("asks"),
    ...features("waitsFor"),
  };
}

export function reportText(report: Report): string {
  const { agent, environment, date, runs, versions, wallSeconds, tests } = report;
  const head = JSON.stringify({ agent, environment, date, runs, versions, wallSeconds }, undefined, 2).replace(
    /\n\}$/,
    "",
  );
  const lines = tests.map(({ name, passes, fails, seconds, failure, asks, waitsFor }) =>
    // The order of fields is fixed here, whatever their order in memory.
    JSON.stringify({ name, passes, fails, seconds, failure, asks, waitsFor }),
  );
  return `${head},\n  "tests": [\n${lines.map((line) => `    ${line}`).join(",\n")}\n  ]\n}\n`;
}

/** Reasons why tests fail that cannot pass on a machine like this one, by test name. */
export const readExplained = (file: string): Readonly<Record<string, string>> =>
  record(parseJson(readFileSync(file, "utf8")), file, text);
