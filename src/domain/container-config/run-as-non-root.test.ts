import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { container, pod } from "../../../test/support/pods.ts";
import type { PodSecurityContext, SecurityContext } from "../../api/gen/core-v1.ts";
import { whyNotNonRoot } from "./run-as-non-root.ts";
import type { ImageUser } from "./security-context.ts";

const WHOSE = '(pod: "p_default(u)", container: app)';

const why = (ofPod: PodSecurityContext, own: SecurityContext, user: ImageUser = {}) =>
  whyNotNonRoot(
    pod({ securityContext: ofPod }, { name: "p", namespace: "default", uid: "u" }),
    container("app", { securityContext: own }),
    user,
  );

void suite("a container with runAsNonRoot", () => {
  test("[25.2] is refused with runAsUser 0, and its own fields override the pod's", () => {
    const words = `container's runAsUser breaks non-root policy ${WHOSE}`;
    assert.equal(why({ runAsNonRoot: true, runAsUser: 0 }, {}), words);
    assert.equal(why({}, { runAsNonRoot: true, runAsUser: 0 }), words);
    assert.equal(why({ runAsNonRoot: true, runAsUser: 7 }, { runAsUser: 0 }), words);
    assert.equal(why({ runAsNonRoot: true, runAsUser: 0 }, { runAsUser: 7 }), undefined);
    assert.equal(why({ runAsNonRoot: true, runAsUser: 0 }, { runAsNonRoot: false }), undefined);
    assert.equal(why({ runAsNonRoot: false }, { runAsNonRoot: true, runAsUser: 0 }), words);
    assert.equal(why({ runAsUser: 0 }, {}), undefined);
  });

  test("[25.2] is checked by its image's user if runAsUser is unset, and a user name alone is refused", () => {
    const asked = { runAsNonRoot: true };
    const root = `container has runAsNonRoot and image will run as root ${WHOSE}`;
    assert.equal(why(asked, {}), root);
    assert.equal(why(asked, {}, { uid: 0n }), root);
    assert.equal(why(asked, {}, { uid: 65_535n }), undefined);
    assert.equal(
      why(asked, {}, { username: "nonroot" }),
      `container has runAsNonRoot and image has non-numeric user (nonroot), cannot verify user is non-root ${WHOSE}`,
    );
    assert.equal(why(asked, { runAsUser: 1 }, { username: "nonroot" }), undefined);
    assert.equal(
      why(asked, {}, { uid: 2_147_483_648n }),
      `container has runAsNonRoot and image has an invalid user id (2147483648). (Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive ${WHOSE}`,
    );
  });
});
