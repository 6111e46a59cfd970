import assert from "node:assert/strict";
import { test } from "node:test";
import { containerLogPath, logLinkName, podLogDirectory } from "./pod-names.ts";

const pod = { namespace: "ns", name: "web", uid: "u-1" };

test("[7.22][27.1.35] the log symlink is pod_namespace_container-id.log, truncated to 255 characters", () => {
  assert.equal(logLinkName(pod, "app", "abc"), "web_ns_app-abc.log");
  const long = logLinkName({ ...pod, name: "p".repeat(253) }, "app", "c".repeat(64));
  assert.equal(long.length, 255);
  assert.equal(long, `${`${"p".repeat(253)}_ns_app`.slice(0, 251)}.log`);
});

test("[27.1.34][27.3.7] the log path is namespace_name_uid/container/attempt.log", () => {
  assert.equal(
    `${podLogDirectory("/var/log/pods", pod)}/${containerLogPath("app", 2)}`,
    "/var/log/pods/ns_web_u-1/app/2.log",
  );
});
