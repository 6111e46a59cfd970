/**
 * Contract suite of the ApiServer port. The real API server behind `wire/kube-api` and the fake in `sim/` both pass it.
 * Connections, credentials and faults are not part of the port; the suite of `wire/kube-api` tests them.
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
    void suite("TokenRequests, reviews and evictions", { timeout }, () => questionCases(world));
    void suite("watches", { timeout }, () => watchCases(world));
  });
}
