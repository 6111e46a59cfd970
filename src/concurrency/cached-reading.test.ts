import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { CachedReading } from "./cached-reading.ts";

const forever = new AbortController().signal;

function world() {
  const clock = new ManualClock();
  const begun: { readonly detail: string; readonly end: (result: string | Error) => void }[] = [];
  const shared = new CachedReading<"little" | "much", string>({
    clock,
    details: ["little", "much"],
    read: (detail) =>
      new Promise((resolve, reject) => {
        begun.push({ detail, end: (result) => (typeof result === "string" ? resolve(result) : reject(result)) });
      }),
  });
  return { clock, begun, shared };
}

void suite("[21.8] a cached reading", () => {
  test("is shared by callers during the reading and for one second after it", async () => {
    const { clock, begun, shared } = world();
    const [first, second] = [shared.read("little", forever), shared.read("little", forever)];
    assert.equal(begun.length, 1);
    begun[0]?.end("one");
    assert.deepEqual(await Promise.all([first, second]), ["one", "one"]);
    await clock.advance(999);
    assert.equal(await shared.read("little", forever), "one");
    await clock.advance(1);
    const next = shared.read("little", forever);
    begun[1]?.end("two");
    assert.deepEqual([await next, begun.length], ["two", 2]);
  });

  test("serves callers that need less detail; callers that need more wait for another reading", async () => {
    const { begun, shared } = world();
    const little = shared.read("little", forever);
    const much = shared.read("much", forever);
    const more = shared.read("much", forever);
    assert.deepEqual(
      begun.map(({ detail }) => detail),
      ["little"],
    );
    begun[0]?.end("some");
    assert.equal(await little, "some");
    await Promise.resolve();
    assert.equal(begun.length, 2);
    begun[1]?.end("all");
    assert.deepEqual([await much, await more, await shared.read("little", forever)], ["all", "all", "all"]);
    assert.equal(begun.length, 2);
  });

  test("continues for the other callers when one aborts", async () => {
    const { begun, shared } = world();
    const impatient = new AbortController();
    const gone = shared.read("little", impatient.signal);
    const patient = shared.read("little", forever);
    impatient.abort(new Error("enough"));
    await assert.rejects(gone, /enough/);
    begun[0]?.end("one");
    assert.equal(await patient, "one");
  });

  test("rejects only the callers that waited for it when it fails", async () => {
    const { begun, shared } = world();
    const failed = [shared.read("little", forever), shared.read("little", forever)];
    const more = shared.read("much", forever);
    begun[0]?.end(new Error("no such thing"));
    for (const one of failed) await assert.rejects(one, /no such thing/);
    begun[1]?.end("all");
    assert.equal(await more, "all");
    assert.equal(await shared.read("little", forever), "all");
  });
});
