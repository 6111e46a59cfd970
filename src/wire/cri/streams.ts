/** Commands in containers and streams to them: ExecSync, Exec, Attach, PortForward. */
import type { RuntimeStreams } from "../../ports/runtime.ts";
import { type Caller, call, NO_LIMIT, withLimit } from "./caller.ts";
import { RuntimeService } from "./gen/api_pb.js";
import { nonEmpty } from "./parse.ts";
import { toInt64 } from "./translate-resources.ts";

const rpc = RuntimeService.method;

export function runtimeStreams(caller: Caller): RuntimeStreams {
  return {
    execSync: async (id, command, timeoutSeconds, signal) => {
      const timeout = toInt64(timeoutSeconds, "the timeout", "ExecSync");
      // The runtime ends the command at its timeout; our own deadline is for a runtime that does not answer.
      const limitMs = timeoutSeconds === 0 ? NO_LIMIT : timeoutSeconds * 1000 + caller.requestLimitMs;
      const request = { containerId: id, cmd: [...command], timeout };
      return call(
        withLimit(caller, limitMs),
        rpc.execSync,
        request,
        signal,
        // Copied, because the decoded bytes are a view that would keep the whole message in memory.
        ({ stdout, stderr, exitCode }) => ({
          stdout: new Uint8Array(stdout),
          stderr: new Uint8Array(stderr),
          exitCode,
        }),
      );
    },

    exec: (id, command, options, signal) =>
      call(caller, rpc.exec, { containerId: id, cmd: [...command], ...options }, signal, url),

    attach: (id, options, signal) => call(caller, rpc.attach, { containerId: id, ...options }, signal, url),

    portForward: (sandboxId, ports, signal) =>
      call(caller, rpc.portForward, { podSandboxId: sandboxId, port: [...ports] }, signal, url),
  };
}

const url = (answer: { readonly url: string }) => nonEmpty(answer.url, "the streaming URL");
