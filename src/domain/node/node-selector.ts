/**
 * Whether a pod or a volume may be on this node, by its node selector terms. One term whose requirements all hold is
 * enough; a term without requirements matches nothing.
 */
import type { NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume } from "../../api/gen/core-v1.ts";

export interface NodeNames {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export function fitsNode({ spec }: PersistentVolume, node: NodeNames): boolean {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms;
  return terms === undefined || terms.some((term) => matchesTerm(term, node));
}

export function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: NodeNames): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const label = ({ key }: NodeSelectorRequirement) => (Object.hasOwn(node.labels, key) ? node.labels[key] : undefined);
  const field = ({ key }: NodeSelectorRequirement) => (key === "metadata.name" ? node.name : undefined);
  return (
    matchExpressions.every((requirement) => holds(requirement, label(requirement))) &&
    matchFields.every((requirement) => holds(requirement, field(requirement)))
  );
}

function holds({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return value !== undefined && compares(value, values[0], (a, b) => a > b);
    case "Lt":
      return value !== undefined && compares(value, values[0], (a, b) => a < b);
    default:
      return false;
  }
}

const compares = (value: string, limit: string | undefined, holdsFor: (a: bigint, b: bigint) => boolean): boolean =>
  /^[+-]?\d+$/.test(value) && limit !== undefined && /^[+-]?\d+$/.test(limit) && holdsFor(BigInt(value), BigInt(limit));
