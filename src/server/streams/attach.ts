/**
 * /attach: the streams of a container's main process. The container, not the request, decides whether there is a
 * terminal.
 */
import { fullNameOf } from "../../domain/pod/pod-identity.ts";
import { HttpError, type Route } from "../route.ts";
import { containerSpec, findPod, hasUid, podParts, runningContainer } from "./find-container.ts";
import { proxyCommand } from "./proxy-command.ts";
import { streamOptions } from "./stream-options.ts";
import { type StreamParts, streamRoutes } from "./stream-parts.ts";

export const attachRoutes = (parts: StreamParts): readonly Route[] =>
  streamRoutes(parts, {
    verb: "attach",
    path: "/attach/{namespace}/{pod}/{container}",
    find: ({ parts: named, query }) => {
      const asked = streamOptions(query);
      const names = podParts(named);
      const found = findPod(parts.known, names);
      const id = runningContainer(parts.known, found, names);
      const spec = containerSpec(found.pod, names.container);
      if (id === undefined || spec === undefined) {
        throw new HttpError(500, `container ${names.container} not found in pod ${fullNameOf(found.pod)}`);
      }
      if (!hasUid(parts.known, found, names.uid)) throw new HttpError(500, `pod ${fullNameOf(found.pod)} not found`);
      const ofContainer = { ...asked, tty: spec.tty ?? false };
      return {
        podUid: found.uid,
        options: ofContainer,
        url: (signal) => parts.runtime.attach(id, ofContainer, signal),
      };
    },
    carry: (target, leaving) => proxyCommand("attach", parts, target, leaving),
  });
