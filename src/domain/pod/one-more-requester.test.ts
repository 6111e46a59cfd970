/** A requester that terminates pods: its entry, as END_REQUESTERS would have it, and the table that it writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { admittedVerdict, NOW_MS, pod } from "../../../test/support/pods.ts";
import { JoinedTable } from "../../concurrency/joined-table.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import { disruptionBy } from "../pod-status/disruption.ts";
import { desiredLifecycle } from "./desired-lifecycle.ts";
import { END_REQUESTERS, type EndRequest, type EndRequester, foldEndRequests } from "./end-request.ts";

const DISRUPTION = "Pod was terminated in response to node shutdown.";
const SHUTDOWN: EndRequester = { reason: "Terminated", disruption: () => DISRUPTION };

test("an additional requester terminates pods through its own table, with its reason, grace period and condition", () => {
  const requesters = [...Object.values<EndRequester>(END_REQUESTERS), SHUTDOWN];
  const tables = requesters.map(() => new LatestTable<string, EndRequest>());
  const requests = new JoinedTable(tables, foldEndRequests);
  const woken: string[] = [];
  requests.watch((uid) => void woken.push(uid));
  const one = pod();
  const desired = () =>
    desiredLifecycle({
      admitted: { uid: "u", pod: one, isStatic: false, firstSeenWallMs: 0, verdict: admittedVerdict(one) },
      endRequest: requests.get("u"),
      sourcesReady: true,
      wasWanted: true,
      mustWait: false,
      wallMs: NOW_MS,
    });
  assert.deepEqual(desired(), { kind: "run" });

  const message = "Pod was terminated in response to imminent node shutdown.";
  tables.at(-1)?.set("u", { reason: SHUTDOWN.reason, message, graceSeconds: 10 });
  assert.deepEqual(woken, ["u"]);
  const why = { kind: "failed", reason: "Terminated", message };
  assert.deepEqual(desired(), { kind: "end", why, graceOverrideSeconds: 10 });
  const condition = { status: "True", reason: "TerminationByKubelet", message: DISRUPTION };
  assert.deepEqual([...disruptionBy({ reason: "Terminated", message }, requesters)], [["DisruptionTarget", condition]]);
  assert.equal(disruptionBy({ reason: "Terminated", message }).size, 0);
});
