import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { admittedVerdict, container, instance, pod } from "../../../test/support/pods.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import type { Image } from "../runtime/image.ts";
import { containerUse, imagesOfPod, podUse, untagged, usersOf } from "./image-use.ts";

const HEX = "a".repeat(64);

const image = (id: string, more: Partial<Image> = {}): Image => ({
  id,
  tags: [],
  digests: [],
  sizeBytes: 1n,
  pinned: false,
  ...more,
});

const IMAGES = [
  image("sha256:1", { tags: ["docker.io/library/nginx:1.25"], digests: [`docker.io/library/nginx@sha256:${HEX}`] }),
  image("sha256:2", { tags: ["r.example:5000/team/app:latest", "docker.io/library/app:latest"] }),
  image("sha256:3", { tags: ["quay.io/org/tool:v1"] }),
];

const CASES: readonly (readonly [reference: string, ids: string])[] = [
  ["sha256:1", "sha256:1"],
  ["1", "sha256:1"],
  ["nginx:1.25", "sha256:1"],
  ["docker.io/nginx:1.25", "sha256:1"],
  ["docker.io/library/nginx:1.25", "sha256:1"],
  ["nginx", ""],
  ["nginx:1.26", ""],
  [`nginx@sha256:${HEX}`, "sha256:1"],
  [`nginx:moved@sha256:${HEX}`, "sha256:1"],
  [`docker.io/library/nginx@sha256:${HEX}`, "sha256:1"],
  ["app", "sha256:2"],
  ["r.example:5000/team/app", "sha256:2"],
  ["r.example:5000/team/app:latest", "sha256:2"],
  ["r.example/team/app", ""],
  ["org/tool:v1", "sha256:3"],
  ["tool:v1", "sha256:3"],
  ["docker.io/org/tool:v1", ""],
  ["UPPER", ""],
  ["", ""],
];

void suite("images in use", () => {
  for (const [reference, ids] of CASES) {
    test(`[9.10] ${JSON.stringify(reference)} means ${ids || "no image"}`, () => {
      assert.equal([...usersOf(IMAGES, [{ by: "x", references: [reference] }]).keys()].join(), ids);
    });
  }

  test("[9.10] the first user of an image is reported", () => {
    const uses = ["x", "y"].map((by) => ({ by, references: ["sha256:1"] }));
    assert.deepEqual([...usersOf(IMAGES, uses)], [["sha256:1", "x"]]);
  });

  test("[9.10] a pod uses the images of all its containers and of its image volumes", () => {
    const of = pod({
      initContainers: [container("init", { image: "i" })],
      containers: [container("app", { image: "c" })],
      ephemeralContainers: [{ name: "debug", image: "e" }],
      volumes: [
        { name: "v", image: { reference: "v" } },
        { name: "w", emptyDir: {} },
      ],
    });
    assert.deepEqual(imagesOfPod(of), ["i", "c", "e", "v"]);
  });

  test("[9.10] a pod uses its images until it has finished or is rejected", () => {
    const of = pod({ containers: [container("app", { image: "c" })] });
    const verdict = admittedVerdict(of);
    const why = { kind: "deleted" } as const;
    const lifecycles: readonly PodLifecycle[] = [
      { kind: "running" },
      { kind: "terminating", graceSeconds: 1, sinceMonotonicMs: 0, why },
      { kind: "terminated", why },
      { kind: "finished", why },
    ];
    assert.deepEqual(podUse({ pod: of, verdict }, undefined), [{ by: "pod default/p", references: ["c"] }]);
    assert.deepEqual(
      lifecycles.map((lifecycle) => podUse({ pod: of, verdict }, { lifecycle }).length),
      [1, 1, 1, 0],
    );
    const rejection = { reason: "OutOfcpu", message: "" };
    assert.deepEqual(podUse({ pod: of, verdict: { kind: "rejected", rejection } }, undefined), []);
    const deferral = { reason: "WaitingForNode", message: "" } as const;
    assert.equal(podUse({ pod: of, verdict: { kind: "deferred", deferral } }, undefined).length, 1);
  });

  test("[9.10] a container that has exited uses its image and the images that it mounted", () => {
    const mounts = [
      { containerPath: "/a", hostPath: "", image: { image: "sha256:3" } },
      { containerPath: "/b", hostPath: "/b" },
    ];
    assert.deepEqual(containerUse(instance("app", "exited", { image: "r.example/x:1" }), mounts).references, [
      "sha256:1",
      "sha256:1",
      "r.example/x:1",
      "sha256:3",
    ]);
  });
});

test("a name without its tag and digest keeps the port of its registry", () => {
  assert.deepEqual(["r:5000/a:1", "r:5000/a", `r:5000/a:1@sha256:${HEX}`].map(untagged), [
    "r:5000/a",
    "r:5000/a",
    "r:5000/a",
  ]);
});
