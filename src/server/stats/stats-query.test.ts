import assert from "node:assert/strict";
import { test } from "node:test";
import { askPlainly } from "../../../test/support/node-caller.ts";
import { serveApi } from "../../../test/support/served-api.ts";
import { FORM_BYTES_MAX } from "../limits.ts";
import type { Route } from "../route.ts";
import { asksForUsageOnly } from "./stats-query.ts";

const route: Route = {
  path: "/stats/summary",
  methods: ["POST"],
  subresources: ["stats"],
  switch: "none",
  readOnlyPort: true,
  longRunning: false,
  answer: async (asked, response) => void response.end(String(await asksForUsageOnly(asked))),
};

test("a form of exactly the limit is read, a larger one returns 413, and the server goes on", async (t) => {
  const api = serveApi({ readOnly: true, routes: [route] });
  t.after(api.stop);
  const url = `http://127.0.0.1:${await api.port}/stats/summary`;
  const type = { "content-type": "application/x-www-form-urlencoded" };
  const post = async (bytes: number) => {
    const { status, body } = await askPlainly(url, "POST", type, "only_cpu_and_memory=true&".padEnd(bytes, "x"));
    return [status, body];
  };
  assert.deepEqual(await post(FORM_BYTES_MAX + 1), [413, "the form is too large"]);
  assert.deepEqual(await post(4 * FORM_BYTES_MAX), [413, "the form is too large"]);
  assert.deepEqual(await post(FORM_BYTES_MAX), [200, "true"]);
});
