/** The health checks for authorized clients: all at once, or one by name. */
import type { Log } from "../../ports/log.ts";
import { type HealthCheck, sendAll, sendOne } from "../healthz.ts";
import { ANY_METHOD, plainRoute } from "../plain-route.ts";
import { HttpError, type Route } from "../route.ts";

export function healthRoutes(checks: readonly HealthCheck[], log: Log): readonly Route[] {
  const common = { methods: ANY_METHOD, subresources: ["healthz", "proxy"], readOnlyPort: true } as const;
  return [
    plainRoute("/healthz", common, ({ query }, response) => sendAll(query, response, checks, log)),
    plainRoute("/healthz/{check}", common, ({ parts }, response) => {
      const check = checks.find(({ name }) => name === parts["check"]);
      if (check === undefined) throw new HttpError(404, "404 page not found\n");
      sendOne(response, check);
    }),
  ];
}
