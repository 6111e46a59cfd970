/** Messages of resize events: the resources as JSON, exactly as the Go kubelet writes them. */
import type { Container, Pod, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { goJson } from "../../base/go-json.ts";

export const startedText = (allocated: Pod, generation: number): string =>
  `Pod resize started: ${summary(allocated, generation)}`;

export const completedText = (allocated: Pod, generation: number): string =>
  `Pod resize completed: ${summary(allocated, generation)}`;

export const errorTextOf = (allocated: Pod, generation: number, error: string): string =>
  `Pod resize error: ${summary(allocated, generation, error)}`;

export const pendingText = (desired: Pod, generation: number, reason: string, error: string): string =>
  `Pod resize ${reason}: ${summary(desired, generation, error)}`;

function summary({ spec }: Pod, generation: number, error = ""): string {
  const [init, regular] = [(spec?.initContainers ?? []).map(entry), (spec?.containers ?? []).map(entry)];
  return goJson({
    ...(init.length === 0 ? {} : { initContainers: init }),
    ...(regular.length === 0 ? {} : { containers: regular }),
    generation,
    ...(error === "" ? {} : { error }),
  });
}

const entry = ({ name, resources }: Container) => ({ name, resources: requirementsInOrder(resources ?? {}) });

/** Fields and names in the order in which Go writes them. */
export const requirementsInOrder = ({ limits, requests, claims }: ResourceRequirements): ResourceRequirements => ({
  ...(isEmpty(limits) ? {} : { limits: byName(limits) }),
  ...(isEmpty(requests) ? {} : { requests: byName(requests) }),
  ...(claims === undefined || claims.length === 0 ? {} : { claims }),
});

type Texts = Readonly<Record<string, string>> | undefined;

const isEmpty = (texts: Texts): texts is undefined => Object.keys(texts ?? {}).length === 0;

const byName = (texts: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(texts).toSorted(([a], [b]) => (a < b ? -1 : 1)));
