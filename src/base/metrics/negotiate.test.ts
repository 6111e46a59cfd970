import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { negotiateFormat, takesGzip } from "./negotiate.ts";

const TEXT = "text/plain; version=0.0.4; charset=utf-8; escaping=";

void describe("negotiateFormat", () => {
  void test("[20.13] returns text for the Accept headers of Prometheus 2 and 3", () => {
    const prometheus3 =
      "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5," +
      "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    assert.deepEqual(negotiateFormat(prometheus3), { format: "text", contentType: `${TEXT}allow-utf-8` });
    const prometheus2 =
      "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    assert.deepEqual(negotiateFormat(prometheus2), { format: "text", contentType: `${TEXT}underscores` });
  });

  void test("[20.13] returns OpenMetrics when the client accepts nothing else", () => {
    for (const accept of [
      "application/openmetrics-text; version=1.0.0; charset=utf-8",
      "application/openmetrics-text",
      "application/openmetrics-text;version=1.0.0, text/plain;q=0",
    ]) {
      assert.deepEqual(negotiateFormat(accept), {
        format: "openMetrics",
        contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
      });
    }
  });

  void test("returns text without an Accept header, and for unknown or malformed ones", () => {
    for (const accept of [
      undefined,
      "",
      "*/*",
      "text/plain",
      "application/json",
      "text/html,text/*;q=0.1",
      ";;=,",
      "x;q=y",
    ]) {
      assert.deepEqual(negotiateFormat(accept), { format: "text", contentType: `${TEXT}underscores` });
    }
  });

  void test("repeats a known escaping and ignores an unknown one", () => {
    assert.equal(negotiateFormat('text/plain;version=0.0.4;escaping="dots"').contentType, `${TEXT}dots`);
    assert.equal(negotiateFormat("text/plain;escaping=none").contentType, `${TEXT}underscores`);
  });
});

void test("takesGzip is true only when Accept-Encoding allows gzip", () => {
  assert.deepEqual(
    ["gzip", "deflate, gzip;q=0.5", "*", "GZIP", undefined, "", "identity", "gzip;q=0", "gzip;q=0, *"].map(takesGzip),
    [true, true, true, true, false, false, false, false, false],
  );
});
