/** /exec: runs a command in a container and carries its streams in both directions. */
import { HttpError, type Route } from "../route.ts";
import { findPod, podParts, runningContainer } from "./find-container.ts";
import { proxyCommand } from "./proxy-command.ts";
import { streamOptions } from "./stream-options.ts";
import { type StreamParts, streamRoutes } from "./stream-parts.ts";

export const execRoutes = (parts: StreamParts): readonly Route[] =>
  streamRoutes(parts, {
    verb: "exec",
    path: "/exec/{namespace}/{pod}/{container}",
    find: ({ parts: named, query }) => {
      const options = streamOptions(query);
      const names = podParts(named);
      const found = findPod(parts.known, names);
      const id = runningContainer(parts.known, found, names);
      if (id === undefined) throw new HttpError(500, `container not found (${JSON.stringify(names.container)})`);
      const command = query.getAll("command");
      return {
        podUid: found.uid,
        options,
        url: (signal) => parts.runtime.exec(id, command, options, signal),
      };
    },
    carry: (target, leaving) => proxyCommand("exec", parts, target, leaving),
  });
