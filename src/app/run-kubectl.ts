/** Runs kubectl for the plugin `kubectl why`. */
import { execFile } from "node:child_process";
import type { KubectlResult } from "./commands/kubectl-why.ts";

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const LIMIT_MS = 60_000;

export const runKubectl = (args: readonly string[]): Promise<KubectlResult> =>
  new Promise((resolve, reject) => {
    execFile("kubectl", args, { maxBuffer: OUTPUT_BYTES_MAX, timeout: LIMIT_MS }, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr });
      else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr });
      // The error's message contains the arguments, and these may contain a token.
      else
        reject(
          new Error(`failed to run kubectl: ${error.killed ? `no answer within ${LIMIT_MS / 1000} s` : error.code}`),
        );
    });
  });
