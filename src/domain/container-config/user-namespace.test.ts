import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { freeRange, idSpace, mappingsText, ownUsers, parseMappings, whyNoUsers } from "./user-namespace.ts";

const SPACE = { first: 65_536, count: 65_535, length: 65_536 };

void suite("user namespaces of pods", () => {
  test("[25.7] get IDs other than the node's own, or from a configured range that must be aligned and large enough", () => {
    assert.deepEqual(idSpace(undefined, 65_536, 110), { kind: "space", ...SPACE });
    assert.deepEqual(idSpace(undefined, 131_072, 110), {
      kind: "space",
      first: 131_072,
      count: 32_767,
      length: 131_072,
    });
    assert.deepEqual(idSpace({ first: 65_536, length: 65_536 * 110 }, 65_536, 110), {
      kind: "space",
      first: 65_536,
      count: 110,
      length: 65_536,
    });
    const why = (first: number, length: number) => {
      const answer = idSpace({ first, length }, 65_536, 110);
      return answer.kind === "unusable" ? answer.message : undefined;
    };
    assert.equal(why(65_537, 0), "kubelet user assigned ID 65537 is not a multiple of 65536");
    assert.equal(why(0, 0), "kubelet user assigned ID 0 must be greater or equal to 65536");
    assert.equal(why(65_536, 65_537), "kubelet user assigned IDs length 65537 is not a multiple of 65536");
    assert.equal(why(65_536, 65_536 * 109), "kubelet user assigned IDs are not enough to support 110 pods");
  });

  test("[25.7] get the first range that no other pod has, and none when all are in use", () => {
    assert.equal(freeRange(SPACE, new Set()), 65_536);
    assert.equal(freeRange(SPACE, new Set([65_536, 131_072, 262_144])), 196_608);
    assert.equal(freeRange({ ...SPACE, count: 2 }, new Set([65_536, 131_072])), undefined);
  });

  test("[27.1.15] are stored in the Go kubelet's file format byte for byte, and read back", () => {
    const text = mappingsText(ownUsers(131_072, 65_536));
    assert.equal(
      text,
      '{"uidMappings":[{"hostId":131072,"containerId":0,"length":65536}],"gidMappings":[{"hostId":131072,"containerId":0,"length":65536}]}',
    );
    assert.deepEqual(parseMappings(text, SPACE), { kind: "range", firstId: 131_072 });
  });

  test("[27.1.15] are refused with upstream's message if the stored file is invalid", () => {
    const mapping = { hostId: 131_072, containerId: 0, length: 65_536 };
    const why = (uid: readonly object[], gid: readonly object[] = uid) => {
      const read = parseMappings(JSON.stringify({ uidMappings: uid, gidMappings: gid }), SPACE);
      return read.kind === "invalid" ? read.message : undefined;
    };
    const wrong = "invalid user namespace configuration:";
    assert.equal(why([mapping, mapping]), `${wrong} no more than one mapping allowed.`);
    assert.equal(why([]), `${wrong} no more than one mapping allowed.`);
    assert.equal(why([mapping], []), `${wrong} GID and UID mappings should be identical.`);
    assert.equal(
      why([mapping], [{ ...mapping, hostId: 65_536 }]),
      `${wrong} GID and UID mappings should be identical.`,
    );
    assert.equal(why([{ ...mapping, containerId: 1 }]), `${wrong} UID 0 must be mapped`);
    assert.equal(why([{ ...mapping, length: 1 }]), "wrong user namespace length 1");
    assert.equal(why([{ ...mapping, hostId: 5 }]), "wrong user namespace offset specified 5");
    assert.equal(why([{ ...mapping, hostId: 0 }]), "id 0 is out of range");
    for (const text of ["", "{", "null", "7"])
      assert.deepEqual(parseMappings(text, SPACE), {
        kind: "invalid",
        message: "invalid user namespace mappings file",
      });
  });

  test("[25.7] are refused with upstream's message if the runtime handler does not support them", () => {
    const handlers = [
      { name: "", userNamespaces: true, recursiveReadonlyMounts: true },
      { name: "kata", userNamespaces: false, recursiveReadonlyMounts: true },
    ];
    assert.equal(whyNoUsers({ handlers }, ""), undefined);
    assert.equal(
      whyNoUsers({ handlers }, "kata"),
      'can\'t set `spec.hostUsers: false`, RuntimeClass handler "kata" does not support user namespaces',
    );
    assert.equal(
      whyNoUsers({ handlers }, "runsc"),
      'can\'t set `spec.hostUsers: false`, RuntimeClass handler "runsc" does not support user namespaces: the handler "runsc" is not known',
    );
    assert.equal(
      whyNoUsers({ handlers: [] }, ""),
      "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    );
  });
});
