/** A route with an immediate, complete response. */
import type { ServerResponse } from "node:http";
import type { Method, Route, RouteRequest, RouteToggle, Subresource } from "./route.ts";

/** Some handlers of the Go kubelet ignore the method. */
export const ANY_METHOD: readonly Method[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
export const READ: readonly Method[] = ["GET"];

export interface PlainRoute {
  readonly methods: readonly Method[];
  readonly subresources: readonly Subresource[];
  readonly switch?: RouteToggle;
  readonly readOnlyPort?: boolean;
}

export const plainRoute = (
  path: string,
  { methods, subresources, switch: by = "none", readOnlyPort = false }: PlainRoute,
  answer: (asked: RouteRequest, response: ServerResponse) => void | Promise<void>,
): Route => ({
  path,
  methods,
  subresources,
  switch: by,
  readOnlyPort,
  longRunning: false,
  answer: async (asked, response) => answer(asked, response),
});
