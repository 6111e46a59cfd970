/** Formats a diagnosis for people and for scripts, and all findings for the documentation. */
import { FINDING_NAMES, FINDINGS, type Finding, type Severity } from "./finding.ts";

/** The least severity that makes doctor fail. */
export type FailOn = "error" | "warning";

/** 1 when a finding is at least as severe as `failOn`, otherwise 0. */
export const exitCodeOf = (findings: readonly Finding[], failOn: FailOn): 0 | 1 =>
  findings.some(({ severity }) => severity === "error" || severity === failOn) ? 1 : 0;

/** Escape sequences of ECMA-48: bold red, bold yellow, bold. */
const COLORS: Readonly<Record<Severity, string>> = { error: "1;31", warning: "1;33", note: "1" };

export function diagnosisText(findings: readonly Finding[], isColored: boolean): string {
  const blocks = findings.map(({ name, severity, seen, advice }) => {
    const label = severity.toUpperCase().padEnd(LABEL_CHARS);
    const shown = isColored ? `\u001b[${COLORS[severity]}m${label}\u001b[0m` : label;
    return `${shown}  ${name}\n${INDENT}${seen}\n${INDENT}→ ${advice}\n`;
  });
  return [...blocks, `${summary(findings)}\n`].join("\n");
}

const LABEL_CHARS = "WARNING".length;
const INDENT = " ".repeat(LABEL_CHARS + 2);

function summary(findings: readonly Finding[]): string {
  if (findings.length === 0) return "No problems found.";
  const count = (severity: Severity) => {
    const number = findings.filter((each) => each.severity === severity).length;
    return `${number} ${severity}${number === 1 ? "" : "s"}`;
  };
  return `${count("error")}, ${count("warning")}, ${count("note")}.`;
}

export const diagnosisJson = (findings: readonly Finding[], failOn: FailOn): string =>
  `${JSON.stringify({ exitCode: exitCodeOf(findings, failOn), findings }, undefined, 2)}\n`;

/** For docs/doctor.md. */
export function findingsAsMarkdown(): string {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  const rows = FINDING_NAMES.map((name) => {
    const { severity, means, advice } = FINDINGS[name];
    return `| \`${name}\` | ${severity} | ${cell(means)} | ${cell(advice)} |`;
  });
  return ["| Finding | Severity | Meaning | What to do |", "| --- | --- | --- | --- |", ...rows].join("\n");
}
