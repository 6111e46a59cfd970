/** Sends one plain HTTP request to a server of routes. */
import { request } from "node:http";

export interface RouteAnswer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

export function askRoute({ port }: { readonly port: number }, method: string, path: string): Promise<RouteAnswer> {
  return new Promise((resolve, reject) => {
    const call = request({ host: "127.0.0.1", port, method, path, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        body += part;
      });
      response.on("end", () => resolve({ status: response.statusCode, type: response.headers["content-type"], body }));
    });
    call.once("error", reject);
    call.end();
  });
}
