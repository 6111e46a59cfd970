/**
 * The mode in which clusters start Deckhand: `enhanced` with DECKHAND_COMPATIBILITY=enhanced, as in the proof of the
 * enhanced mode. Otherwise the mode is the agent's default, strict.
 */
export const isEnhanced = process.env["DECKHAND_COMPATIBILITY"] === "enhanced";

/** Further flags of each Deckhand that a cluster starts. */
export const compatibilityFlags: readonly string[] = isEnhanced ? ["--deckhand-compatibility=enhanced"] : [];
