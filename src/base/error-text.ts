/** The message of a thrown value, which may be anything. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
