/** A diagnosis for people, for scripts, and as the page of all that may be found. */
import { FINDING_NAMES, FINDINGS, type Finding, type Severity } from "./finding.ts";

/** 0: nothing but notes. 1: something hurts. 2: something stops the node. */
export function exitCodeOf(findings: readonly Finding[]): 0 | 1 | 2 {
  const has = (severity: Severity) => findings.some((each) => each.severity === severity);
  return has("stops") ? 2 : has("hurts") ? 1 : 0;
}

export function diagnosisText(findings: readonly Finding[]): string {
  const blocks = findings.map(
    ({ name, severity, seen, advice }) =>
      `${severity.toUpperCase().padEnd(5)}  ${name}\n       ${seen}\n       → ${advice}\n`,
  );
  return [...blocks, `${summary(findings)}\n`].join("\n");
}

function summary(findings: readonly Finding[]): string {
  const count = (severity: Severity) => findings.filter((each) => each.severity === severity).length;
  if (findings.length === 0) return "Nothing on this host would stop or hurt a node.";
  return `${count("stops")} that stop a node, ${count("hurts")} that hurt it, ${count("note")} to know.`;
}

export const diagnosisJson = (findings: readonly Finding[]): string =>
  `${JSON.stringify({ exitCode: exitCodeOf(findings), findings }, undefined, 2)}\n`;

/** For docs/doctor.md. */
export function findingsAsMarkdown(): string {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  const rows = FINDING_NAMES.map((name) => {
    const { severity, means, advice } = FINDINGS[name];
    return `| \`${name}\` | ${severity} | ${cell(means)} | ${cell(advice)} |`;
  });
  return ["| finding | | what it means | what to do |", "| --- | --- | --- | --- |", ...rows].join("\n");
}
