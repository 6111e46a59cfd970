import assert from "node:assert/strict";
import { test } from "node:test";
import { containerLogPath, logLinkName, podLogDirectory } from "./pod-names.ts";

const pod = { namespace: "ns", name: "web", uid: "u-1" };

test("[7.22][27.1.35] a log's link has the names of pod, namespace, container and its id, cut to 255 with the suffix", () => {
  assert.equal(logLinkName(pod, "app", "abc"), "web_ns_app-abc.log");
  const long = logLinkName({ ...pod, name: "p".repeat(253) }, "app", "c".repeat(64));
  assert.equal(long.length, 255);
  assert.equal(long, `${`${"p".repeat(253)}_ns_app`.slice(0, 251)}.log`);
});

test("[27.1.34][27.3.7] logs lie by namespace, name and UID, container and number of the run", () => {
  assert.equal(
    `${podLogDirectory("/var/log/pods", pod)}/${containerLogPath("app", 2)}`,
    "/var/log/pods/ns_web_u-1/app/2.log",
  );
});
