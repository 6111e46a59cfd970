/** Everything that a node of Deckhand's answers over HTTP beside a Go kubelet's answer for the same pods, field by field. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { figure } from "../figures.ts";
import { compare, DIFFERENCES, type Difference } from "./endpoints-differential/differences.ts";
import { nameOf, QUESTIONS, QUESTIONS_WITHOUT_DEBUGGING, type Question } from "./endpoints-differential/questions.ts";
import { startWorld, type World } from "./endpoints-differential/world.ts";

let world: World;
const fired = new Map<Difference, number>();
let compared = 0;

before(async () => {
  world = await startWorld();
});

after(async () => world[Symbol.asyncDispose]());

async function differing(question: Question): Promise<readonly string[]> {
  const [go, ours] = await Promise.all([world.go.facts(question), world.ours.facts(question)]);
  const found = compare(nameOf(question), go, ours, fired);
  compared += found.compared;
  return found.unexplained;
}

/** Four at a time: most of an answer's time is waiting. */
async function assertSame(questions: readonly Question[]): Promise<void> {
  assert.ok(questions.length > 0);
  const unexplained: string[] = [];
  const next = questions[Symbol.iterator]();
  const lane = async () => {
    for (const question of next) unexplained.push(...(await differing(question)));
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
  assert.deepEqual(unexplained, []);
}

void suite("the answers of two nodes", () => {
  for (const [title, questions] of Object.entries(QUESTIONS)) {
    test(title, () => assertSame(questions));
  }

  test("[20.17] every page where debugging is closed", async () => {
    await world.closeDebugging();
    await assertSame(QUESTIONS_WITHOUT_DEBUGGING);
  });

  test("every difference that is meant was needed, and much was compared", () => {
    figure("facts compared", compared, "");
    for (const [{ row, why }, times] of fired) figure(`differs (${row}): ${why}`, times, "facts");
    const unneeded = DIFFERENCES.filter((each) => !fired.has(each) && each.isByChance !== true);
    assert.deepEqual(
      unneeded.map(({ row, why }) => `${row}: ${why}`),
      [],
    );
    assert.ok(compared > 8_000, String(compared));
  });
});
