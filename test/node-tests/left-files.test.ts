import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { removeLeftFiles } from "./left-files.ts";

const report = (...steps: readonly string[]) => [
  {
    SpecReports: [
      {
        LeafNodeType: "It",
        LeafNodeText: "a",
        LeafNodeLabels: [],
        LeafNodeLocation: { FileName: "k8s.io/kubernetes@v1.36.4/test/e2e_node/a_test.go" },
        ContainerHierarchyTexts: [],
        ContainerHierarchyLabels: [],
        SpecEvents: steps.map((Message) => ({ SpecEventType: "By", Message })),
      },
    ],
  },
];

void suite("the files that node tests leave", () => {
  test("are removed by the namespaces of the run's tests, and no others", async () => {
    const directory = await mkdtemp(join(tmpdir(), "deckhand-left-"));
    try {
      await mkdir(join(directory, "plugins-12-device1"));
      await writeFile(join(directory, "plugins-123-device1"), "");
      await writeFile(join(directory, "default-file"), "");
      const steps = [
        'Destroying namespace "plugins-12" for this suite.',
        'Collecting events from namespace "default".',
      ];
      await removeLeftFiles(report(...steps), directory);
      assert.deepEqual(await readdir(directory), ["default-file", "plugins-123-device1"]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
