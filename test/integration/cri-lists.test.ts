/** Unary and streamed lists: every list by both calls, on a runtime with and without the streaming call. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Images } from "../../src/ports/images.ts";
import type { Runtime } from "../../src/ports/runtime.ts";
import { failure, patient } from "../contract/runtime-world.ts";
import { container, containerStats, image, parts, sandbox, sandboxStats, served } from "./cri-messages.ts";
import type { CriAnswers } from "./cri-server.ts";

type ListName = keyof Pick<
  Runtime & Images,
  "listSandboxes" | "listContainers" | "listContainerStats" | "listSandboxStats" | "listSandboxMetrics" | "listImages"
>;

/** Every list: how to request it, and both ways of answering with two items. */
const lists: Readonly<
  Record<
    ListName,
    {
      readonly ask: (client: { readonly runtime: Runtime; readonly images: Images }) => Promise<readonly object[]>;
      readonly stream: string;
      readonly streamed: CriAnswers;
      readonly unary: string;
      readonly whole: CriAnswers;
    }
  >
> = {
  listSandboxes: {
    ask: ({ runtime }) => runtime.listSandboxes({ id: "x" }, patient),
    stream: "StreamPodSandboxes",
    streamed: { streamPodSandboxes: () => parts({ podSandboxes: [sandbox("a")] }, { podSandboxes: [sandbox("b")] }) },
    unary: "ListPodSandbox",
    whole: { listPodSandbox: () => ({ items: [sandbox("a"), sandbox("b")] }) },
  },
  listContainers: {
    ask: ({ runtime }) => runtime.listContainers({ id: "x" }, patient),
    stream: "StreamContainers",
    streamed: { streamContainers: () => parts({ containers: [container("a")] }, { containers: [container("b")] }) },
    unary: "ListContainers",
    whole: { listContainers: () => ({ containers: [container("a"), container("b")] }) },
  },
  listContainerStats: {
    ask: ({ runtime }) => runtime.listContainerStats({ id: "x" }, patient),
    stream: "StreamContainerStats",
    streamed: {
      streamContainerStats: () =>
        parts({ containerStats: [containerStats("a")] }, { containerStats: [containerStats("b")] }),
    },
    unary: "ListContainerStats",
    whole: { listContainerStats: () => ({ stats: [containerStats("a"), containerStats("b")] }) },
  },
  listSandboxStats: {
    ask: ({ runtime }) => runtime.listSandboxStats({ id: "x" }, patient),
    stream: "StreamPodSandboxStats",
    streamed: {
      streamPodSandboxStats: () =>
        parts({ podSandboxStats: [sandboxStats("a")] }, { podSandboxStats: [sandboxStats("b")] }),
    },
    unary: "ListPodSandboxStats",
    whole: { listPodSandboxStats: () => ({ stats: [sandboxStats("a"), sandboxStats("b")] }) },
  },
  listSandboxMetrics: {
    ask: ({ runtime }) => runtime.listSandboxMetrics(patient),
    stream: "StreamPodSandboxMetrics",
    streamed: {
      streamPodSandboxMetrics: () =>
        parts({ podSandboxMetrics: [{ podSandboxId: "a" }] }, { podSandboxMetrics: [{ podSandboxId: "b" }] }),
    },
    unary: "ListPodSandboxMetrics",
    whole: { listPodSandboxMetrics: () => ({ podMetrics: [{ podSandboxId: "a" }, { podSandboxId: "b" }] }) },
  },
  listImages: {
    ask: ({ images }) => images.listImages({ image: { image: "x" } }, patient),
    stream: "StreamImages",
    streamed: { streamImages: () => parts({ images: [image("a")] }, { images: [image("b")] }) },
    unary: "ListImages",
    whole: { listImages: () => ({ images: [image("a"), image("b")] }) },
  },
};

for (const [name, { ask, stream, streamed, unary, whole }] of Object.entries(lists)) {
  test(`${name} by ${stream} joins its parts into the same list as ${unary}`, async (t) => {
    const one = await served(t, { ...streamed, ...whole }, { streamLists: true });
    const other = await served(t, { ...streamed, ...whole }, { streamLists: false });
    const list = await ask(one);
    assert.equal(list.length, 2);
    assert.deepEqual(list, await ask(other));
    assert.deepEqual([one.server.calls, other.server.calls], [[stream], [unary]]);
  });

  const [method, answer] = Object.entries(streamed)[0] ?? assert.fail("no streamed answer");

  test(`${name} falls back to ${unary} on a runtime without ${stream}, and does not try it again`, async (t) => {
    const refused = () => failing({ code: 12, details: "no such call" });
    const client = await served(t, { ...whole, [method]: refused }, { streamLists: true });
    assert.equal((await ask(client)).length, 2);
    assert.equal((await ask(client)).length, 2);
    assert.deepEqual(client.server.calls, [stream, unary, unary]);
  });

  test(`${name} fails without partial results when ${stream} breaks off`, async (t) => {
    const whole = (answer as () => AsyncIterable<object>)();
    const broken = () => failing({ code: 13, details: "broke off" }, whole);
    const client = await served(t, { [method]: broken }, { streamLists: true });
    await assert.rejects(ask(client), failure(stream, "internal"));
    assert.deepEqual(client.server.calls, [stream]);
  });
}

test("a list that cannot be streamed does not stop another from being streamed", async (t) => {
  const answers = { ...lists.listContainers.whole, ...lists.listSandboxes.streamed };
  const { runtime, server } = await served(t, answers, { streamLists: true });
  await runtime.listContainers({}, patient);
  await runtime.listSandboxes({}, patient);
  assert.deepEqual(server.calls, ["ListContainers", "StreamPodSandboxes"]);
});

test("a streamed list that never ends fails at the deadline", async (t) => {
  const { runtime } = await served(
    t,
    {
      streamContainers: async function* () {
        for (let index = 0; ; index += 1) {
          yield { containers: [container(`c${index}`)] };
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      },
    },
    { streamLists: true, requestLimitMs: 300 },
  );
  await assert.rejects(runtime.listContainers({}, patient), failure("StreamContainers", "deadlineExceeded"));
});

/** Yields what `before` yields, then fails with the status. */
async function* failing(status: object, before: AsyncIterable<object> = parts()): AsyncGenerator<object> {
  yield* before;
  throw status;
}
