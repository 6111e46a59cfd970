/** How doctor is asked to speak, and how it does. */
import type { Finding } from "../../domain/doctor/finding.ts";
import { diagnosisJson, diagnosisText, exitCodeOf } from "../../domain/doctor/show.ts";

/** Ours is taken out, the rest is the kubelet's, which has no flag of that name. */
export function takeOutput(args: readonly string[]): { readonly output: string; readonly flags: readonly string[] } {
  const flags: string[] = [];
  let output = "text";
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "-o" || arg === "--output") {
      at += 1;
      output = args[at] ?? "";
    } else if (arg.startsWith("--output=")) output = arg.slice("--output=".length);
    else if (arg.startsWith("-o=")) output = arg.slice("-o=".length);
    else flags.push(arg);
  }
  return { output, flags };
}

export const inFormat = (findings: readonly Finding[], output: string) => ({
  exitCode: exitCodeOf(findings),
  stdout: output === "json" ? diagnosisJson(findings) : diagnosisText(findings),
});
