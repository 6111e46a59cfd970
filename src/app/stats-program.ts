/**
 * The program of the thread that reads stats. In the sources it is a file. A build is a single file, so it replaces
 * this module's URL with the bundled program (`tools/build/bundle.ts`).
 */
export const statsProgram = new URL("../wire/stats/thread/main.ts", import.meta.url);
