/**
 * The program of the thread that reads figures. In the sources it is a file; what is built is one file, so the build puts that program, bundled, in
 * the place of this module's address (`tools/build/bundle.ts`).
 */
export const statsProgram = new URL("../wire/stats/thread/main.ts", import.meta.url);
