/** /statusz and /flagz: the process and its flags, as text for people and as an object for programs. */
import { ANY_METHOD, plainRoute } from "../plain-route.ts";
import type { Route } from "../route.ts";
import { sendStructured } from "../structured-response.ts";

/** The component chooses this text; upstream's is what people search for. */
const heading = (page: string) =>
  `\nkubelet ${page}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n`;

/** Flag names and their values. */
export const flagzRoute = (flags: Readonly<Record<string, string>>): Route =>
  plainRoute(
    "/flagz",
    { methods: ANY_METHOD, subresources: ["configz"], switch: "debugging" },
    ({ request }, response) =>
      sendStructured(request, response, {
        kind: "Flagz",
        text: () => {
          const names = Object.keys(flags).toSorted();
          return heading("flagz") + names.map((name) => `${name}=${flags[name]}\n`).join("");
        },
        fields: () => ({ flags }),
      }),
  );

export interface StatusFacts {
  readonly startedWallMs: number;
  /** The runtime of this program, shown where Go programs show their Go version. */
  readonly platform: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  /** Paths of the endpoints that help to inspect the process. */
  readonly paths: readonly string[];
}

export const statuszRoute = (facts: StatusFacts, wallMs: () => number): Route =>
  plainRoute(
    "/statusz",
    { methods: ANY_METHOD, subresources: ["statusz"], switch: "debugging" },
    ({ request }, response) => {
      const { startedWallMs, platform: goVersion, binaryVersion, emulationVersion, paths } = facts;
      const uptimeSeconds = Math.max(0, Math.floor((wallMs() - startedWallMs) / 1000));
      const startTime = new Date(startedWallMs).toISOString().replace(/\.\d+Z$/, "Z");
      sendStructured(request, response, {
        kind: "Statusz",
        text: () =>
          `${heading("statusz")}
Started: ${dateText(startedWallMs)}
Up: ${uptimeText(uptimeSeconds)}
Go version: ${goVersion}
Binary version: ${binaryVersion}
Emulation version: ${emulationVersion}
Paths: ${paths.join(" ")}
`,
        fields: () => ({ startTime, uptimeSeconds, goVersion, binaryVersion, emulationVersion, paths }),
      });
    },
  );

/** Formats like `date`: "Mon Nov  2 15:04:05 UTC 2026". */
function dateText(wallMs: number): string {
  const [, day, date = "", month, year, time] =
    /^(\w+), (\d+) (\w+) (\d+) (\S+)/.exec(new Date(wallMs).toUTCString()) ?? [];
  return `${day} ${month} ${date.replace(/^0/, " ")} ${time} UTC ${year}`;
}

const twoDigits = (value: number) => String(value).padStart(2, "0");
const uptimeText = (seconds: number) =>
  `${Math.floor(seconds / 3600)} hr ${twoDigits(Math.floor(seconds / 60) % 60)} min ${twoDigits(seconds % 60)} sec`;
