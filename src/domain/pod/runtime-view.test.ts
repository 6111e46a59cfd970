import assert from "node:assert/strict";
import { test } from "node:test";
import { instance, sandbox, view } from "../../../test/support/pods.ts";
import { CONTAINER_NAME_LABEL, POD_UID_LABEL } from "../container-config/cri-keys.ts";
import { listingByPod } from "./runtime-listing.ts";
import { instancesOf } from "./runtime-view.ts";

const ids = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);

test("[27.3.9] sandboxes belong to the pod UID in their metadata, containers to the one in their label", () => {
  const metadata = { name: "p", namespace: "default", uid: "by-hand", attempt: 0 };
  const bare = sandbox({ id: "bare", metadata, labels: {} });
  const mislabelled = sandbox({ id: "mislabelled", metadata, labels: { [POD_UID_LABEL]: "another" } });
  const labels = { [POD_UID_LABEL]: "by-hand", [CONTAINER_NAME_LABEL]: "app" };
  const listed = listingByPod([bare, mislabelled], [{ ...instance("app", "running"), labels }]);
  assert.deepEqual([...listed.keys()], ["by-hand"]);
  assert.deepEqual(ids(listed.get("by-hand")?.sandboxes ?? []), ["bare", "mislabelled"]);
  assert.deepEqual(ids(listed.get("by-hand")?.containers ?? []), ["app-0"]);
});

test("[27.3.9] sandboxes are sorted newest first by creation time, then by ID", () => {
  const at = (id: string, createdWallNs: bigint) => sandbox({ id, createdWallNs });
  assert.deepEqual(ids(view([at("b", 1n), at("c", 2n), at("a", 1n)], []).sandboxes), ["c", "a", "b"]);
});

test("[27.3.9] a higher attempt sorts first even when the clock was set back", () => {
  const later = { ...sandbox({ attempt: 1 }), createdWallNs: 0n };
  assert.deepEqual(ids(view([sandbox(), later], []).sandboxes), ["sandbox-1", "sandbox-0"]);
  const again = { ...instance("app", "running", { restartCount: 1 }), createdWallNs: 0n };
  assert.deepEqual(ids(view([], [instance("app", "exited"), again]).containers), ["app-1", "app-0"]);
});

test("[27.3.9] a container of another name does not change the order of two attempts", () => {
  const at = (name: string, attempt: number, createdWallNs: bigint) => ({
    ...instance(name, "exited", { restartCount: attempt }),
    createdWallNs,
  });
  const made = [at("app", 0, 100n), at("side", 0, 50n), at("app", 1, 20n)];
  for (const order of [made, made.toReversed(), [...made.slice(1), ...made.slice(0, 1)]]) {
    const attempts = instancesOf(view([], order), "app").map(({ metadata }) => metadata.attempt);
    assert.deepEqual(attempts, [1, 0]);
  }
});
