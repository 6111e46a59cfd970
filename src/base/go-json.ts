/** JSON as Go's encoder writes it: escaped for HTML and JavaScript. Keys keep the caller's order. */
export const goJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
