/**
 * A test of an issue's promise exists once, in two sizes. CI runs the small size on every change; `npm run proof --
 * <name>` runs the whole size and commits its report.
 */
export const wholeSize = (): boolean => process.env["DECKHAND_SIZE"] === "whole";

/**
 * The seed of the run's randomness. A proof picks one and writes it into its report; set DECKHAND_SEED to it to repeat
 * the run.
 */
export const seed = (): number => Number(process.env["DECKHAND_SEED"] ?? "1");
