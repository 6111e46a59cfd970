/** What to tell people of something that was thrown, whatever it is. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
