/**
 * Every HTTP answer of a node with Deckhand, compared with the Go kubelet's answer for the same pods, field by field.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { figure } from "../figures.ts";
import { Recording } from "../golden/recording.ts";
import { isSelected } from "../golden/selected-cases.ts";
import { deckhandTest, type Side } from "../golden/sides.ts";
import { DIFFERENCES, type Difference, withoutIntended } from "./endpoints-differential/differences.ts";
import type { Facts } from "./endpoints-differential/facts.ts";
import { STATIC_POD } from "./endpoints-differential/pods.ts";
import { nameOf, QUESTIONS, QUESTIONS_WITHOUT_DEBUGGING, type Question } from "./endpoints-differential/questions.ts";
import { startWorld, type World } from "./endpoints-differential/world.ts";

const recording = Recording.open("endpoints-differential");
let world: World;
const fired = new Map<Difference, number>();

before(async () => {
  world = await startWorld();
});

after(async () => world[Symbol.asyncDispose]());

async function answerOf(side: Side, question: Question, name: string): Promise<Facts> {
  const facts = await world.node(side).facts(question);
  if (side === "go") return facts;
  // A question with an intended difference has at most one recorded answer.
  const [go] = recording.answers(name) as readonly Readonly<Record<string, string>>[];
  return withoutIntended(nameOf(question), new Map(Object.entries(go ?? {})), facts, fired);
}

/** Four at a time: most of a request's time is waiting. */
async function checkAll(all: readonly Question[], nameFor: (question: Question) => string): Promise<void> {
  assert.ok(all.length > 0);
  const questions = all.filter((question) => isSelected(nameFor(question)));
  const failures: string[] = [];
  const next = questions[Symbol.iterator]();
  const lane = async () => {
    for (const question of next) {
      const name = nameFor(question);
      try {
        await recording.check(name, (side) => answerOf(side, question, name));
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
  assert.deepEqual(failures, []);
}

void suite("the answers of two nodes", () => {
  for (const [title, questions] of Object.entries(QUESTIONS)) {
    test(title, () => checkAll(questions, nameOf));
  }

  deckhandTest("[20.4] the metadata of a pod is the newest that the API server sent", async () => {
    const isCompared = ({ metadata }: Pod) =>
      metadata?.name !== "crashing" && !(metadata?.name ?? "").startsWith(STATIC_POD);
    const managedOf = (pods: readonly Pod[]) =>
      new Map(pods.filter(isCompared).map(({ metadata }) => [metadata?.name, metadata?.managedFields]));
    const [known, shown] = [await world.podsOfApi("deckhand"), await world.node("deckhand").pods()];
    assert.ok(managedOf(known).size > 5);
    assert.deepEqual(managedOf(shown), managedOf(known));
  });

  test("[20.17] every page with debugging handlers disabled", async () => {
    await world.closeDebugging();
    await checkAll(QUESTIONS_WITHOUT_DEBUGGING, (question) => `closed ${nameOf(question)}`);
  });

  deckhandTest("every intended difference was needed, and the number of compared values has not shrunk", () => {
    figure("values compared", recording.compared, "values");
    for (const [{ row, why }, times] of fired) figure(`differs (${row}): ${why}`, times, "facts");
    const unneeded = DIFFERENCES.filter((each) => !fired.has(each));
    assert.deepEqual(
      unneeded.map(({ row, why, fact }) => `${row}: ${why}: ${fact.source}`),
      [],
    );
    assert.ok(recording.compared > 8_000, String(recording.compared));
  });
});
