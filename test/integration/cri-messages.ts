/** A CRI client of a server whose responses the test defines, and messages for these responses. */
import type { TestContext } from "node:test";
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { type CriOptions, connectCri } from "../../src/wire/cri/client.ts";
import type {
  ContainerSchema,
  ContainerStatsSchema,
  ContainerStatusSchema,
  PodSandboxSchema,
  PodSandboxStatsSchema,
} from "../../src/wire/cri/gen/api_pb.js";
import { hostClock } from "../../src/wire/host/clock.ts";
import { type CriAnswers, serveCri } from "./cri-server.ts";

/** A message as a plain initializer, not as a created message. */
type Init<S extends DescMessage> = Exclude<MessageInitShape<S>, MessageShape<S>>;

export async function served(t: TestContext, answers: CriAnswers, options: Partial<CriOptions> = {}) {
  const malformed: string[] = [];
  const server = await serveCri(t, answers);
  const client = connectCri(
    { endpoint: server.endpoint, onMalformed: (detail) => malformed.push(detail), ...options },
    hostClock,
  );
  t.after(() => client.close());
  return { ...client, server, malformed };
}

export const sandbox = (id: string, changes: Init<typeof PodSandboxSchema> = {}) => ({
  id,
  metadata: { name: id, uid: `uid-${id}`, namespace: "ns" },
  createdAt: 1n,
  ...changes,
});
export const container = (id: string, changes: Init<typeof ContainerSchema> = {}) => ({
  id,
  podSandboxId: "s",
  metadata: { name: id },
  image: { image: "i" },
  createdAt: 1n,
  ...changes,
});
export const status = (changes: Init<typeof ContainerStatusSchema> = {}) => ({
  status: { id: "c", metadata: { name: "c" }, image: { image: "i" }, createdAt: 1n, ...changes },
});
export const containerStats = (id: string): Init<typeof ContainerStatsSchema> => ({
  attributes: { id, metadata: { name: id } },
});
export const sandboxStats = (id: string): Init<typeof PodSandboxStatsSchema> => ({
  attributes: { id, metadata: { name: id, uid: "u", namespace: "ns" } },
});
export const image = (id: string) => ({ id, size: 1n });

export async function* parts<T>(...items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
