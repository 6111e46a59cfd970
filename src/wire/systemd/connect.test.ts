import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { waitUntil } from "../../../test/cluster/wait.ts";
import { listenAsPeer } from "../../../test/support/dbus-peer.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { firstOf } from "./connect.ts";

void test("a silent D-Bus socket is dropped for the next one after five seconds", async () => {
  const directory = await mkdtemp(join(tmpdir(), "deckhand-systemd-"));
  const mute = await listenAsPeer(join(directory, "mute"), () => {}, "");
  const good = await listenAsPeer(join(directory, "good"), () => {});
  const clock = new ManualClock();
  const places = ["nobody", "mute", "good"].map((name) => ({ socketPath: join(directory, name), isBus: false }));
  const connecting = firstOf(places, clock, new AbortController().signal);
  await waitUntil("the mute one to be asked", 5_000, async () => mute.connections === 1);
  await clock.advance(4_999);
  assert.equal(good.connections, 0);
  await clock.advance(1);
  const connection = await connecting;
  assert.deepEqual([connection.isOpen, good.connections, clock.timersPending], [true, 1, 0]);
  connection.close();
  await Promise.all([mute.close(), good.close()]);
  await rm(directory, { recursive: true });
});
