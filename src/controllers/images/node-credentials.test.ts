import assert from "node:assert/strict";
import { test } from "node:test";
import { install } from "../../../sim/world-files.ts";
import { withFileOfSize } from "../../../test/support/file-of-size.ts";
import { imageWorld } from "../../../test/support/image-world.ts";
import { CREDENTIALS_FILE_BYTES_MAX } from "../limits.ts";
import { readNodeCredentials } from "./node-credentials.ts";

const DIRECTORIES = { root: "/root-dir", working: "/working", home: "/home" };
const auths = (username: string) => JSON.stringify({ auths: { "docker.io": { username } } });
const bare = (username: string) => JSON.stringify({ "docker.io": { username } });

/** In ascending order of preference: each path wins over those before it. */
const PLACES: readonly (readonly [path: string, text: (name: string) => string])[] = [
  ["/.dockercfg", bare],
  ["/home/.dockercfg", bare],
  ["/working/.dockercfg", bare],
  ["/root-dir/.dockercfg", bare],
  ["/.docker/config.json", auths],
  ["/home/.docker/config.json", auths],
  ["/working/config.json", auths],
  ["/root-dir/config.json", auths],
];

test("[9.6] [27.1.33] the first valid credentials file counts: config.json before .dockercfg, each in directory order", async () => {
  const { files, log } = imageWorld();
  const read = async (directories = DIRECTORIES) =>
    (await readNodeCredentials(directories, { files: files.port, log })).flatMap((credentials) =>
      credentials.map(([, { username }]) => username),
    );
  assert.deepEqual(await read(), []);
  for (const [path, text] of PLACES) {
    install(files, path, text(path));
    assert.deepEqual(await read(), [path]);
  }
  install(files, "/root-dir/config.json", "not json");
  assert.deepEqual(await read(), ["/working/config.json"]);
  assert.match(log.lines.join("\n"), /Ignored an invalid registry credentials file .*root-dir/);
  install(files, "/root-dir/config.json", "{}");
  assert.deepEqual(await read(), [], "a file without credentials is a file");
  const elsewhere = { root: "/none", working: "/w2", home: "" };
  install(files, "/w2/.docker/config.json", auths("below the working directory"));
  assert.deepEqual(await read(elsewhere), ["below the working directory"]);
});

test("[9.6] a credentials file larger than the limit is skipped for the next; one of exactly the limit is read", async () => {
  const { files, log } = imageWorld();
  install(files, "/root-dir/config.json", auths("first"));
  install(files, "/working/config.json", auths("second"));
  const read = async (sizeBytes: number) => {
    const port = withFileOfSize(files.port, "/root-dir/config.json", sizeBytes);
    return (await readNodeCredentials(DIRECTORIES, { files: port, log })).flat().map(([, { username }]) => username);
  };
  assert.deepEqual(await read(CREDENTIALS_FILE_BYTES_MAX), ["first"]);
  assert.deepEqual(await read(CREDENTIALS_FILE_BYTES_MAX + 1), ["second"]);
  assert.match(
    log.lines.join("\n"),
    /Failed to read a registry credentials file .*"read \/root-dir\/config.json: tooLarge"/,
  );
});

test("[9.6] [27.1.33] links are followed, and the next pull uses a changed credentials file", async () => {
  const world = imageWorld();
  const { files, ensure, calls } = world;
  install(files, "/root-dir/v1", auths("first"));
  install(files, "/keys/v2", auths("second"));
  await files.port.link("v1", "/root-dir/config.json");
  await ensure({ image: "a" });
  await files.port.link("/keys/v2", "/root-dir/config.json");
  await ensure({ image: "b", uid: "u2" });
  assert.deepEqual(
    calls.map(({ credentials }) => credentials?.username),
    ["first", "second"],
  );
  await world.finish();
});
