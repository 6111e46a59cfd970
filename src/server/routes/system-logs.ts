/**
 * /logs: the Go kubelet serves the machine's log files here. Deckhand does not, and answers as if the endpoint were
 * disabled.
 */
import { plainRoute } from "../plain-route.ts";
import { HttpError, type Route } from "../route.ts";

export const systemLogsRoute: Route = plainRoute(
  "/logs/*",
  { methods: ["GET"], subresources: ["log"], switch: "systemLogs" },
  () => {
    throw new HttpError(405, "logs endpoint is disabled.\n");
  },
);
