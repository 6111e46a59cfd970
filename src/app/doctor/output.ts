/** Parses doctor's own flags and formats its findings. */
import type { Finding } from "../../domain/doctor/finding.ts";
import { diagnosisJson, diagnosisText, exitCodeOf, type FailOn } from "../../domain/doctor/show.ts";
import { isOutputFormat, OUTPUT, type OutputFormat, outputFault, takeOwnFlags } from "../commands/own-flags.ts";

export interface DoctorFlags {
  readonly output: OutputFormat;
  readonly failOn: FailOn;
}

const NAMES = { ...OUTPUT, "--fail-on": "failOn" } as const;

/** Removes doctor's own flags. The remaining flags are the kubelet's. */
export function takeDoctorFlags(
  args: readonly string[],
):
  | { readonly kind: "flags"; readonly own: DoctorFlags; readonly kubelet: readonly string[] }
  | { readonly kind: "wrong"; readonly why: string } {
  const { own, rest } = takeOwnFlags(args, NAMES);
  const output = own.get("output") ?? "text";
  const failOn = own.get("failOn") ?? "error";
  if (!isOutputFormat(output)) return { kind: "wrong", why: outputFault(output) };
  if (failOn !== "error" && failOn !== "warning") {
    return { kind: "wrong", why: `--fail-on is error or warning, not ${failOn}` };
  }
  return { kind: "flags", own: { output, failOn }, kubelet: rest };
}

export const inFormat = (findings: readonly Finding[], { output, failOn }: DoctorFlags, isColored: boolean) => ({
  exitCode: exitCodeOf(findings, failOn),
  stdout: output === "json" ? diagnosisJson(findings, failOn) : diagnosisText(findings, isColored),
});
