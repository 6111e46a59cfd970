import assert from "node:assert/strict";
import { test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import { containerConfig } from "./container-config.ts";

const SETTINGS = {
  restartCount: 0,
  imageRef: "sha256:1",
  imageUser: {},
  resources: {},
  seccompDefault: false,
  terminationMessageFile: undefined,
} as const;

test("a doubled dollar in command and arguments stands for one", () => {
  const words = ["echo $$", "$$$$", "$x", "$", "a$$b$$$c"];
  const { command, args } = containerConfig(pod(), container("app", { command: words, args: words }), SETTINGS);
  const meant = ["echo $", "$$", "$x", "$", "a$b$$c"];
  assert.deepEqual([command, args], [meant, meant]);
});

test("[27.3.6] the image is named as the pull answered and as the pod says, and nothing else is said of it", () => {
  const { image } = containerConfig(pod({}, { annotations: { a: "1" } }), container("app"), SETTINGS);
  assert.deepEqual(image, { image: "sha256:1", userSpecifiedImage: "busybox" });
});

test("an image that names no user is root's, and one that names a user by name only is that user's", () => {
  const security = (imageUser: { readonly uid?: bigint; readonly username?: string }) => {
    const config = containerConfig(pod(), container("app"), { ...SETTINGS, imageUser });
    return { runAsUser: config.security?.runAsUser, runAsUsername: config.security?.runAsUsername };
  };
  assert.deepEqual(security({}), { runAsUser: 0n, runAsUsername: undefined });
  assert.deepEqual(security({ uid: 7n }), { runAsUser: 7n, runAsUsername: undefined });
  assert.deepEqual(security({ username: "www" }), { runAsUser: undefined, runAsUsername: "www" });
});
