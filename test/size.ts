/**
 * What an issue promises exists once, with a size: CI runs a small one on every change, `npm run proof -- <name>` runs the whole
 * size and commits its report.
 */
export const wholeSize = (): boolean => process.env["DECKHAND_SIZE"] === "whole";

/** The seed of the run's randomness. A proof picks one and writes it into its report; give it again to repeat the run. */
export const seed = (): number => Number(process.env["DECKHAND_SEED"] ?? "1");
