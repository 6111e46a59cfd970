/** Where the Go kubelet serves the machine's log files. They are not served here, which is said as it says that they are switched off. */
import { plainRoute } from "../plain-route.ts";
import { Refusal, type Route } from "../route.ts";

export const systemLogsRoute: Route = plainRoute(
  "/logs/*",
  { methods: ["GET"], subresources: ["log"], switch: "systemLogs" },
  () => {
    throw new Refusal(405, "logs endpoint is disabled.\n");
  },
);
