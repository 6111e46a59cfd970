import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { inRepository, repositoryRoot } from "../../tools/repository.ts";
import { readNames } from "../conformance/ratchet.ts";
import { isSerial, listNames, testsOf } from "./lists.ts";
import { places, readCannotRun, readTree } from "./places.ts";
import { select } from "./selection.ts";

const tree = readTree(repositoryRoot);
const names = new Set(tree.map(({ name }) => name));
const read = (path: string) => readNames(readFileSync(inRepository(path), "utf8"));

void suite("the lists of upstream's node tests", () => {
  test("each has tests of the tree", () => {
    assert.deepEqual(
      listNames.filter((list) => testsOf(list, tree).length === 0),
      [],
    );
  });

  test("together have every test of the tree", () => {
    const listed = new Set(listNames.flatMap((list) => testsOf(list, tree).map(({ name }) => name)));
    assert.deepEqual(
      [...names].filter((name) => !listed.has(name)),
      [],
    );
  });

  test("the lists of conformance have exactly the tests with the label NodeConformance, each once", () => {
    const lists = ["conformance", "conformance-serial", "conformance-common"] as const;
    const all = lists.flatMap((list) => testsOf(list, tree));
    assert.deepEqual(
      all.map(({ name }) => name).toSorted(),
      tree.filter(({ labels }) => labels.includes("NodeConformance")).map(({ name }) => name),
    );
    assert.deepEqual(testsOf("conformance", tree).filter(isSerial), []);
  });

  test("a list takes a test whose group begins with the list's subject, and no test that only mentions it", () => {
    const test = (name: string) => ({ name: `[sig-node] ${name}`, file: "e2e_node/a_test.go", labels: [] });
    const mirror = test("MirrorPodWithGracePeriod ends");
    assert.deepEqual(testsOf("mirror-pods", [mirror, test("Pods keep their MirrorPod")]), [mirror]);
  });
});

void suite("the selection", () => {
  test("leaves out exactly the tests that cannot run", () => {
    const wanted = ["a", "b"].map((name) => ({ name, file: "", labels: [] }));
    assert.deepEqual(select(wanted, { b: "no systemd" }), {
      tests: wanted.slice(0, 1),
      excluded: ["b"],
    });
  });

  test("each test that cannot run is in the tree and has a reason", () => {
    const cannotRun = Object.entries(readCannotRun(repositoryRoot));
    assert.deepEqual(
      cannotRun.filter(([name, reason]) => !names.has(name) || reason.trim() === ""),
      [],
    );
  });

  test("CI's tests are in the tree, can run, are not serial, and are known to pass", () => {
    const subset = read(places.ciSubset);
    const passing = new Set(read(places.passing));
    const runnable = new Map(
      select(tree, readCannotRun(repositoryRoot)).tests.map((entry) => [entry.name, isSerial(entry)]),
    );
    assert.deepEqual(
      subset.filter((name) => runnable.get(name) !== false || !passing.has(name)),
      [],
    );
    assert.ok(subset.length > 0);
  });
});
