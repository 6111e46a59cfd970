/**
 * What any ApiServer promises, whoever implements it: the real server behind `wire/kube-api`, and the fake in `sim/`. Port level
 * only; connections, credentials and faults are the wire's own suite.
 */
import { after, before, suite } from "node:test";
import { nodeCases } from "./api-server/nodes.ts";
import { podCases } from "./api-server/pods.ts";
import { questionCases } from "./api-server/questions.ts";
import { readCases } from "./api-server/reads.ts";
import { watchCases } from "./api-server/watches.ts";
import type { ApiWorld } from "./api-server/world.ts";
import { writeCases } from "./api-server/writes.ts";

export interface OpenApiWorld extends ApiWorld {
  close(): Promise<void>;
}

export function apiServerContract(name: string, open: () => Promise<OpenApiWorld>): void {
  void suite(name, () => {
    let opened: OpenApiWorld | undefined;
    const world = () => {
      if (opened === undefined) throw new Error("the world is not open");
      return opened;
    };
    before(async () => {
      opened = await open();
    });
    after(() => opened?.close());
    const timeout = 120_000;
    void suite("reads", { timeout }, () => readCases(world));
    void suite("writes", { timeout }, () => writeCases(world));
    void suite("pods", { timeout }, () => podCases(world));
    void suite("nodes", { timeout }, () => nodeCases(world));
    void suite("questions", { timeout }, () => questionCases(world));
    void suite("watches", { timeout }, () => watchCases(world));
  });
}
