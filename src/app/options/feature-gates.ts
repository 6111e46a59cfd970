/**
 * Resolves which feature gates are on. The result is part of the compiled options: no module reads gates from a global.
 */
import { GATE_NEEDS, GATES, type GateFacts, type GateName } from "./feature-gate-table.ts";
import { goList } from "./go-text.ts";

export type FeatureGates = Readonly<Record<GateName, boolean>>;

/** The requested gates are not possible. */
export class GateFault extends Error {
  override readonly name = "GateFault";
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.length === 1 ? faults[0] : `[${faults.join(", ")}]`);
    this.faults = faults;
  }
}

const NAMES = Object.keys(GATES) as readonly GateName[];
const factsOf = (name: GateName): GateFacts => GATES[name];
const isGate = (name: string): name is GateName => Object.hasOwn(GATES, name);

/** `AllAlpha` and `AllBeta` set every gate of their stage that is not set by name. */
export function resolveGates(wanted: Readonly<Record<string, boolean>>): FeatureGates {
  const unknown = Object.keys(wanted).find((name) => !isGate(name));
  if (unknown !== undefined) throw new GateFault([`unrecognized feature gate: ${unknown}`]);
  const locked = Object.entries(wanted).filter(([name, on]) => {
    const facts = factsOf(name as GateName);
    return facts.locked && facts.initial !== on;
  });
  if (locked.length > 0) {
    throw new GateFault(
      locked.map(([name, on]) => `cannot set feature gate ${name} to ${on}, feature is locked to ${!on}`),
    );
  }
  const valueOf = (name: GateName): boolean => {
    const { stage, initial } = factsOf(name);
    const ofStage = stage === "alpha" ? wanted["AllAlpha"] : stage === "beta" ? wanted["AllBeta"] : undefined;
    return wanted[name] ?? (name === "AllAlpha" || name === "AllBeta" ? undefined : ofStage) ?? initial;
  };
  const gates = Object.fromEntries(NAMES.map((name) => [name, valueOf(name)])) as Record<GateName, boolean>;
  const lacking = NAMES.flatMap((name) => {
    const off = gates[name] ? (GATE_NEEDS[name] ?? []).filter((needed) => !gates[needed]) : [];
    return off.length > 0 ? [`${name} is enabled, but depends on features that are disabled: ${goList(off)}`] : [];
  });
  if (lacking.length > 0) throw new GateFault(lacking);
  return gates;
}

/** The Go kubelet's warning for each set gate that will be removed in a future release. */
export function gateWarnings(wanted: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.entries(wanted).flatMap(([name, on]) => {
    const stage = isGate(name) ? factsOf(name).stage : undefined;
    const word = stage === "deprecated" ? "deprecated" : stage === "ga" ? "GA" : undefined;
    if (word === undefined) return [];
    return [
      `Warning: setting ${word} feature gate. It will be removed in a future release. featureGate=${name} value=${on}`,
    ];
  });
}
