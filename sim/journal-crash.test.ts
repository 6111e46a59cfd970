import assert from "node:assert/strict";
import { test } from "node:test";
import { createJournal } from "../src/controllers/journal/journal.ts";
import type { JournalRecord } from "../src/domain/journal/records.ts";
import type { HostFiles } from "../src/ports/host-files.ts";
import type { Random } from "../src/ports/random.ts";
import { admitted } from "../test/contract/journal-contract.ts";
import { figure } from "../test/figures.ts";
import { ManualClock } from "../test/support/manual-clock.ts";
import { FakeFiles } from "./fake-files.ts";
import { SeededRandom } from "./seeded-random.ts";

const DIRECTORY = "/var/lib/kubelet/deckhand/journal";
/** Small, so that one life fills several segments and compacts them. */
const limits = { segmentBytesMax: 900, totalBytesMax: 2000, bytesTarget: 1000, batchBytesMax: 400 };
const LIFE_RECORDS = 40;

/**
 * A disk, the lives of a process on it, and the UIDs of records whose append was acknowledged or that were replayed.
 */
class World {
  readonly asked: string[] = [];
  readonly promised = new Set<string>();
  replaying = false;
  readonly random: Random;
  readonly fake: FakeFiles;
  #stepsLeft = Number.POSITIVE_INFINITY;
  #onCrash = () => {};

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    const beforeStep = async () => {
      this.#stepsLeft -= 1;
      if (this.#stepsLeft !== 0) return;
      if (this.random.fraction() < 0.3) this.fake.kill();
      else this.fake.crash(this.random);
      this.#onCrash();
    };
    this.fake = new FakeFiles({ clock: new ManualClock(), beforeStep });
  }

  /** Runs one life until its end or until the step where it dies. Returns true when it died. */
  async live(stepsMax: number, life: (files: HostFiles) => Promise<void>): Promise<boolean> {
    this.#stepsLeft = stepsMax;
    const died = new Promise<boolean>((resolve) => {
      this.#onCrash = () => resolve(true);
    });
    const hasDied = await Promise.race([died, life(this.fake.port).then(() => false)]);
    this.fake.kill(); // The journal may still be compacting.
    return hasDied;
  }

  async append(files: HostFiles): Promise<void> {
    const journal = createJournal({
      files,
      directory: DIRECTORY,
      clock: new ManualClock(),
      onProblem: () => {},
      limits,
    });
    this.replaying = true;
    const found = await journal.replay();
    this.replaying = false;
    this.check(found);
    // The reader acts on replayed records, so the next replay must return them too.
    for (const { uid } of found) this.promised.add(uid);
    for (let group = 0; group < LIFE_RECORDS; ) {
      const size = 1 + Math.floor(this.random.fraction() * 6);
      await Promise.all(
        Array.from({ length: size }, async (_, index) => {
          const uid = `uid-${this.asked.length + 1}-${"x".repeat(index * 7)}`;
          this.asked.push(uid);
          const written = await journal.append(admitted(uid)).then(
            () => true,
            () => false,
          );
          if (written) this.promised.add(uid);
        }),
      );
      group += size;
    }
  }

  check(records: readonly JournalRecord[]): void {
    const found = records.map(({ uid }) => uid);
    const lost = [...this.promised].filter((uid) => !found.includes(uid));
    assert.deepEqual(lost, [], "promised and lost");
    const order = found.map((uid) => this.asked.indexOf(uid));
    assert.ok(
      order.every((place) => place >= 0),
      "content that no agent wrote",
    );
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
      "out of order",
    );
    assert.equal(new Set(found).size, found.length, "twice");
  }
}

void test("a power cut or a kill at every single step loses no acknowledged record and invents none", async () => {
  let crashes = 0;
  for (let seed = 0; seed < 3; seed += 1) {
    for (let step = 1, died = true; died; step += 1) {
      const world = new World(seed * 100_000 + step);
      died = await world.live(step, (files) => world.append(files));
      if (died) crashes += 1;
      // The next life dies too, while it repairs or writes; the two lives after that check the records.
      await world.live(1 + Math.floor(world.random.fraction() * 60), (files) => world.append(files));
      assert.equal(await world.live(Number.POSITIVE_INFINITY, (files) => world.append(files)), false);
      assert.equal(await world.live(Number.POSITIVE_INFINITY, (files) => world.append(files)), false);
    }
  }
  figure("crash points", crashes, "");
  assert.ok(crashes > 200, `${crashes} crash points`);
});

void test("a full disk rejects appends, a freed one accepts them, and replay never returns a partial record", async () => {
  let rejected = 0;
  for (let seed = 0; seed < 60; seed += 1) {
    const world = new World(seed);
    for (let life = 0; life < 4; life += 1) {
      world.fake.disk.freeBytes = Math.floor(world.random.fraction() * 3000);
      await world.live(1 + Math.floor(world.random.fraction() * 300), (files) => world.append(files));
    }
    rejected += world.asked.length - world.promised.size;
    world.fake.disk.freeBytes = 1e6;
    const before = world.promised.size;
    assert.equal(await world.live(Number.POSITIVE_INFINITY, (files) => world.append(files)), false);
    assert.ok(world.promised.size >= before + LIFE_RECORDS, "space is back and so is the journal");
    assert.equal(await world.live(Number.POSITIVE_INFINITY, (files) => world.append(files)), false);
  }
  figure("rejected appends", rejected, "");
  assert.ok(rejected > 100, `${rejected} rejected`);
});

void test("a failing call, with or without effect, loses at most its own append", async () => {
  for (let seed = 0; seed < 100; seed += 1) {
    const world = new World(seed);
    const codes = ["noSpace", "readOnly", "other", "notPermitted"] as const;
    world.fake.faultFor = ({ operation }) => {
      // A failed read during replay is reported and cannot be recovered from; during compaction it must lose nothing.
      const isReading = operation === "list" || operation === "read";
      if ((isReading && world.replaying) || world.random.fraction() > (isReading ? 0.03 : 0.15)) return undefined;
      const code = codes[Math.floor(world.random.fraction() * codes.length)] ?? "other";
      return { code, effect: world.random.fraction() < 0.5 ? "none" : "done" };
    };
    await world.live(Number.POSITIVE_INFINITY, (files) => world.append(files));
    world.fake.faultFor = () => undefined;
    assert.equal(await world.live(Number.POSITIVE_INFINITY, (files) => world.append(files)), false);
    assert.equal(await world.live(Number.POSITIVE_INFINITY, (files) => world.append(files)), false);
  }
});
