import assert from "node:assert/strict";
import { test } from "node:test";
import { askPlainly } from "../../../test/support/node-caller.ts";
import { serveApi } from "../../../test/support/served-api.ts";
import type { Question } from "../../domain/explain/explain.ts";
import { OBJECT_NAME_CHARS_MAX } from "../limits.ts";
import { type Explanations, explainRoutes } from "./explain.ts";

test("/explain/pod and /explain/node answer in JSON or as text, and with a Status for what is unknown", async (t) => {
  const questions: Question[] = [];
  const explanations: Explanations = {
    pod: async (question) => {
      questions.push(question);
      if (question.pod !== "shop/web") return { kind: "unknown", text: `${question.pod} is not known to this node\n` };
      return {
        kind: "found",
        explanation: { pod: "shop/web", uid: "u", sentence: "It waits.", timeline: [], earlier: [] },
      };
    },
    node: async () => ({
      kind: "found",
      explanation: {
        sentence: "The node is ready.",
        agentStartedWallMs: undefined,
        lastRecordWallMs: 0,
        conditions: [],
        waitsFor: [],
        evictions: [],
      },
    }),
  };
  const routes = explainRoutes(explanations, () => 0);
  assert.ok(routes.every(({ readOnlyPort, subresources }) => !readOnlyPort && subresources.join() === "pods,proxy"));
  const api = serveApi({ readOnly: true, routes: routes.map((route) => ({ ...route, readOnlyPort: true })) });
  t.after(api.stop);
  const port = await api.port;
  const get = (path: string) => askPlainly(`http://127.0.0.1:${port}${path}`, "GET", {}, "");

  const json = await get("/explain/pod/shop/web?uid=u");
  assert.equal(json.status, 200);
  assert.equal((JSON.parse(json.body) as { readonly sentence: unknown }).sentence, "It waits.");
  assert.deepEqual(questions, [{ pod: "shop/web", uid: "u", nowWallMs: 0 }]);
  assert.match((await get("/explain/pod/shop/web?output=text")).body, /^Pod shop\/web, UID u, .*\n\nIt waits\.\n/);
  assert.equal((await get("/explain/pod/shop/web?output=xml")).status, 400);
  assert.equal((await get(`/explain/pod/shop/${"x".repeat(OBJECT_NAME_CHARS_MAX + 1)}`)).status, 400);
  const unknown = await get("/explain/pod/shop/wep");
  assert.equal(unknown.status, 404);
  const { kind, message, code } = JSON.parse(unknown.body) as Readonly<Record<string, unknown>>;
  assert.deepEqual([kind, message, code], ["Status", "shop/wep is not known to this node", 404]);
  assert.match((await get("/explain/node?output=text")).body, /\nThe node is ready\.\n/);
  assert.equal(
    (JSON.parse((await get("/explain/node")).body) as { readonly sentence: unknown }).sentence,
    "The node is ready.",
  );
});
