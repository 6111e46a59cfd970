/**
 * What the type system cannot hide is refused here, each name with what to write instead.
 *
 * Two groups are banned by zone: time and randomness (a decision that reads the clock cannot be simulated), and the outside
 * world (files, sockets, processes, environment). The zones follow the layers of docs/ARCHITECTURE.md.
 */
import { defineConfig } from "oxlint";

type Ban = readonly [names: readonly string[], instead: string];

const clock = "use the Clock port (src/ports/clock.ts)";
const random = "use the Random port (src/ports/random.ts)";
const linked = "use linkSignals or withDeadline (src/concurrency): this one leaks under a long-lived parent";
const outside = "the outside world is reached through a port; its adapter lives in src/wire";

const timeGlobals: readonly Ban[] = [
  [
    ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate", "performance"],
    clock,
  ],
  // The same names by another way.
  [["globalThis", "global"], "name what is needed itself, so that the ban on it can be seen"],
];
const outsideGlobals: readonly Ban[] = [[["fetch", "WebSocket", "EventSource", "BroadcastChannel"], outside]];
const timeProperties: readonly (readonly [string, string, string])[] = [
  ["Date", "now", clock],
  ["process", "hrtime", clock],
  ["process", "uptime", clock],
  ["process", "getBuiltinModule", "import what is needed, so that the ban on it can be seen"],
  ["performance", "now", clock],
  ["Math", "random", random],
  ["AbortSignal", "any", linked],
  ["AbortSignal", "timeout", linked],
  ...["randomUUID", "randomUUIDv7", "getRandomValues", "randomBytes", "randomInt", "randomFill", "randomFillSync"].map(
    (name) => ["crypto", name, random] as const,
  ),
];
const timeModules: readonly Ban[] = [
  [["timers", "timers/promises"], clock],
  [["perf_hooks"], clock],
  // It holds hrtime and uptime; the global is there without it.
  [["process"], "use the global process, so that the bans on its clock can be seen"],
  [["module"], "import what is needed, so that the ban on it can be seen"],
];
const randomImports = [
  // All of them under another name.
  "default",
  "randomUUID",
  "randomUUIDv7",
  "randomBytes",
  "randomInt",
  "randomFill",
  "randomFillSync",
  "getRandomValues",
  "webcrypto",
];

const files = ["fs", "fs/promises", "child_process", "os", "worker_threads", "cluster", "sqlite", "inspector"];
const sockets = ["net", "tls", "http", "https", "http2", "dgram", "dns", "dns/promises"];

const both = (names: readonly string[]) => names.flatMap((name) => [name, `node:${name}`]);

function restrictedImports(options: { readonly time: boolean; readonly outside: readonly string[] }) {
  const paths = both(options.outside).map((name) => ({ name, message: outside }));
  if (!options.time) return ["error", { paths }] as const;
  const time = timeModules.flatMap(([names, message]) => both(names).map((name) => ({ name, message })));
  const randoms = both(["crypto"]).map((name) => ({ name, importNames: randomImports, message: random }));
  return ["error", { paths: [...paths, ...time, ...randoms] }] as const;
}

function restrictedProperties(options: { readonly time: boolean; readonly environment: boolean }) {
  const time = options.time ? timeProperties : [];
  const environment = options.environment ? [["process", "env", outside] as const] : [];
  return ["error", ...[...time, ...environment].map(([object, property, message]) => ({ object, property, message }))];
}

function zone(options: { readonly time: boolean; readonly outside: readonly string[]; readonly environment: boolean }) {
  const bans = [...(options.time ? timeGlobals : []), ...(options.environment ? outsideGlobals : [])];
  const globals = bans.flatMap(([names, message]) => names.map((name) => ({ name, message })));
  return {
    "no-restricted-globals": globals.length > 0 ? ["error", ...globals] : "off",
    "no-restricted-properties": options.time || options.environment ? restrictedProperties(options) : "off",
    "no-restricted-imports": options.time || options.outside.length > 0 ? restrictedImports(options) : "off",
    "deckhand/bare-date": options.time ? "error" : "off",
  };
}

const inside = zone({ time: true, outside: [...files, ...sockets], environment: true });
const server = zone({ time: true, outside: files, environment: true });
const edge = zone({ time: true, outside: [], environment: false });
const free = zone({ time: false, outside: [], environment: false });

export default defineConfig({
  plugins: ["typescript", "import", "unicorn", "oxc", "node", "promise"],
  jsPlugins: ["./tools/lint/bare-date.js"],
  categories: { correctness: "error", suspicious: "error" },
  options: { typeAware: true },
  rules: {
    ...inside,
    eqeqeq: "error",
    "import/no-cycle": "error",
    "import/no-default-export": "error",
    "typescript/no-explicit-any": "error",
    // With these a file could get its layer's missing types back, or import against the layers.
    "typescript/ban-ts-comment": [
      "error",
      { "ts-ignore": true, "ts-nocheck": true, "ts-expect-error": true, "ts-check": true },
    ],
    "typescript/triple-slash-reference": ["error", { lib: "never", path: "never", types: "never" }],
    // The test runner keeps the promises of its own calls.
    "typescript/no-floating-promises": [
      "error",
      {
        allowForKnownSafeCalls: [
          {
            from: "package",
            package: "node:test",
            name: ["test", "describe", "it", "suite", "before", "after", "beforeEach", "afterEach"],
          },
        ],
      },
    ],
    "typescript/no-misused-promises": "error",
    "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    "typescript/no-unsafe-assignment": "error",
    "typescript/no-unsafe-return": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/consistent-type-imports": "error",
    // A promise is often awaited in order on purpose; a loop that must not be is seen in review.
    "no-await-in-loop": "off",
    // Every field is readonly by style, and a shadowed name inside a small closure reads well.
    "no-shadow": "off",
    // The platform's errors carry their cause already where it matters.
    "unicorn/no-array-sort": "off",
    "import/no-unassigned-import": "off",
    // The compiler's noImplicitReturns and exhaustive switches say it better.
    "typescript/consistent-return": "off",
    // A one-line helper reads best beside its only use.
    "unicorn/consistent-function-scoping": "off",
    "promise/always-return": "off",
    "promise/no-callback-in-promise": "off",
    // What is parsed at an edge is asserted there, once.
    "typescript/no-unsafe-type-assertion": "off",
  },
  overrides: [
    // Type-only imports count in production code: a circle of types is a circle for its reader, too.
    { files: ["src/**"], rules: { "import/no-cycle": ["error", { ignoreTypes: false }] } },
    {
      files: ["src/**"],
      rules: { "max-lines-per-function": ["error", { max: 70 }], "max-params": ["error", { max: 5 }] },
    },
    { files: ["src/**/*.test.ts"], rules: { "max-lines-per-function": "off", "max-params": "off" } },
    { files: ["src/wire/**", "src/app/**"], rules: edge },
    { files: ["src/server/**"], rules: server },
    { files: ["src/wire/host/**", "sim/drain.ts", "test/**", "bench/**", "tools/**", "oxlint.config.ts"], rules: free },
    {
      files: ["oxlint.config.ts", "tools/lint/**"],
      rules: { "import/no-default-export": "off", "typescript/no-unsafe-assignment": "off" },
    },
    { files: ["test/mutants/outcome-reporter.ts"], rules: { "import/no-default-export": "off" } },
  ],
  ignorePatterns: ["src/wire/*/gen/**", "src/api/gen/**", "dist/**", ".tsc/**", "stubs/**", ".runs/**"],
});
