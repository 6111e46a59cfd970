import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseTree, treeOf, treeText } from "./tree.ts";

const spec = (leaf: string, labels: readonly string[], type = "It") => ({
  LeafNodeType: type,
  LeafNodeText: leaf,
  LeafNodeLabels: labels,
  ContainerHierarchyTexts: ["[sig-node] Pods", ""],
  ContainerHierarchyLabels: [["sig-node"], null],
  LeafNodeLocation: { FileName: "k8s.io/kubernetes@v1.36.4/test/e2e_node/pods_test.go", LineNumber: 1 },
  State: "passed",
});

void suite("the tree of upstream's node tests", () => {
  test("has every test of a dry run with the labels of its groups and its own, sorted", () => {
    const report = [{ SpecReports: [spec("b", ["Serial", "sig-node"]), spec("a", []), spec("", [], "BeforeSuite")] }];
    assert.deepEqual(treeOf(report), [
      { name: "[sig-node] Pods a", file: "e2e_node/pods_test.go", labels: ["sig-node"] },
      { name: "[sig-node] Pods b", file: "e2e_node/pods_test.go", labels: ["Serial", "sig-node"] },
    ]);
  });

  test("joins the labels of tests with the same name", () => {
    const report = [{ SpecReports: [spec("a", ["Slow"]), spec("a", ["Serial"])] }];
    assert.deepEqual(treeOf(report)[0]?.labels, ["Serial", "Slow", "sig-node"]);
  });

  test("is read back from its text as written", () => {
    const tree = [
      { name: "one, with a comma", file: "e2e_node/a_test.go", labels: ["Serial", "Slow"] },
      { name: "two", file: "e2e/common/b.go", labels: [] },
    ];
    assert.deepEqual(parseTree(treeText(tree)), tree);
  });
});
