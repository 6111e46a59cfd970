/**
 * /run: runs a command without streams and answers with its stdout followed by its stderr. A failing command is
 * answered with 500.
 */
import { isRuntimeError, rpcText } from "../../ports/runtime-error.ts";
import { HttpError, type Route, type RouteRequest } from "../route.ts";
import { findPod, podParts, runningContainer } from "./find-container.ts";
import type { StreamParts } from "./stream-parts.ts";

type RunParts = Pick<StreamParts, "known" | "runtime">;

export const runRoutes = (parts: RunParts): readonly Route[] =>
  ["/run/{namespace}/{pod}/{container}", "/run/{namespace}/{pod}/{uid}/{container}"].map((path) => ({
    path,
    methods: ["POST"],
    subresources: ["proxy"],
    switch: "debugging",
    readOnlyPort: false,
    // A command may take any time.
    longRunning: true,
    answer: async (asked, response) => {
      const output = await run(parts, asked);
      if (output.length > 0) response.setHeader("Content-Type", "application/json");
      response.writeHead(200).end(output);
    },
  }));

async function run({ known, runtime }: RunParts, { parts, query, signal }: RouteRequest): Promise<Buffer> {
  const names = podParts(parts);
  const found = findPod(known, names);
  const id = runningContainer(known, found, names);
  if (id === undefined) throw new HttpError(500, `container not found (${JSON.stringify(names.container)})`);
  const command = (query.get("cmd") ?? "").split(" ");
  try {
    const { stdout, stderr, exitCode } = await runtime.execSync(id, command, 0, signal);
    if (exitCode === 0) return Buffer.concat([stdout, stderr]);
    const errors = Buffer.from(stderr).toString("utf8");
    throw new HttpError(500, `command '${command.join(" ")}' exited with ${exitCode}: ${errors}`);
  } catch (error) {
    if (!isRuntimeError(error)) throw error;
    throw new HttpError(500, rpcText(error));
  }
}
