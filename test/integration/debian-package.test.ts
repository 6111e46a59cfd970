/**
 * The Debian package in the kubelet's place, beside upstream's package, with real dpkg and a stand-in for systemctl.
 * These tests do not cover what the programs do.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { buildDeb } from "../../tools/package/deb.ts";
import { scratch } from "../../tools/scratch.ts";
import { command, tryCommand } from "../cluster/command.ts";
import { waitUntil } from "../cluster/wait.ts";
import { PackageRoot } from "../support/package-root.ts";
import { examplesUnder } from "../support/typed-lines.ts";
import { KUBEADM_DROP_IN, kubeadmPackage, kubeletPackage, UPSTREAM_UNIT } from "../support/upstream-packages.ts";

const UNIT = "/usr/lib/systemd/system/kubelet.service";
const DROP_IN = "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf";
const PLACES = ["/usr/bin/kubelet", UNIT, "/lib/systemd/system/kubelet.service"];

describe("the Debian package", () => {
  const directory = scratch();
  let holder: ChildProcess;
  let roots = 0;

  before(async () => {
    // Keeps a mount namespace open, with a tmpfs to write to.
    const script = `mount -t tmpfs tmpfs ${directory.root}/memory && exec sleep infinity`;
    await command("mkdir", [directory.path("memory")]);
    holder = spawn("unshare", ["--mount", "--propagation", "private", "--", "sh", "-ec", script], { stdio: "inherit" });
    await waitUntil("the mount", 10_000, async () => {
      const { stdout } = await tryCommand("nsenter", ["-m", "-t", String(holder.pid), "mount"]);
      return stdout.includes(directory.path("memory"));
    });
  });

  after(async () => {
    holder.kill("SIGKILL");
    await once(holder, "exit");
    directory[Symbol.dispose]();
  });

  const inNamespace = (...args: readonly string[]) => tryCommand("nsenter", ["-m", "-t", String(holder.pid), ...args]);
  const newRoot = () => {
    roots += 1;
    return PackageRoot.make(`${directory.path("memory")}/${roots}`, inNamespace);
  };

  /** A Deckhand package whose program prints its name and version. */
  function ours(version: string): string {
    const program = directory.path(`deckhand-${version}`);
    directory.write(`deckhand-${version}`, `#!/bin/sh\necho deckhand ${version}\n`);
    chmodSync(program, 0o755);
    const docs = { "licences.txt": "the licences\n", "sbom.cdx.json": "{}\n" };
    const source = {
      executable: program,
      docs,
      version,
      kubernetes: "1.36.4",
      architecture: "amd64",
      epoch: 1_700_000_000,
    };
    return buildDeb(source, directory.root);
  }
  const goKubelet = (version: string, units: "/usr/lib" | "/lib" = "/usr/lib") =>
    kubeletPackage({ version, program: { text: `#!/bin/sh\necho Go ${version}\n` }, units }, directory.root);
  const install = (root: PackageRoot, ...files: readonly string[]) => root.must("dpkg", "--install", ...files);
  const who = async (root: PackageRoot) => (await root.must("/usr/bin/kubelet")).trim();
  const stateOf = async (root: PackageRoot, name: string) =>
    (await root.must("dpkg-query", "--show", "--showformat=${Status}", name)).trim();
  const typeOf = async (root: PackageRoot) => (await root.must("sh", "-c", `sed -n 's/^Type=//p' ${UNIT}`)).trim();

  test("replaces an installed kubelet, diverts its files, and leaves kubeadm's drop-in unchanged", async () => {
    const root = await newRoot();
    await install(root, await goKubelet("1.36.4-1.1"), await kubeadmPackage("1.36.4-1.1", directory.root));
    assert.deepEqual(
      [await who(root), await root.asked()],
      ["Go 1.36.4-1.1", ["preset kubelet.service: /usr/bin/kubelet "]],
    );
    await install(root, ours("0.1.0"));
    assert.deepEqual([await who(root), await typeOf(root)], ["deckhand 0.1.0", "notify"]);
    assert.equal(await root.must("cat", DROP_IN), KUBEADM_DROP_IN);
    assert.equal((await root.must("/usr/bin/kubelet.distrib")).trim(), "Go 1.36.4-1.1");
    // The service restarts after everything is installed; whether it is enabled does not change.
    assert.deepEqual(await root.asked(), [
      "--system daemon-reload: /usr/bin/deckhand notify",
      "try-restart kubelet.service: /usr/bin/deckhand notify",
    ]);
  });

  for (const units of ["/usr/lib", "/lib"] as const) {
    test(`stays in place through upgrades of both packages, and restores the kubelet on removal, with units below ${units}`, async () => {
      const root = await newRoot();
      await install(root, await goKubelet("1.36.3-1.1", units));
      await install(root, ours("0.1.0"));
      await root.asked();
      await install(root, ours("0.2.0"));
      assert.deepEqual([await who(root), await typeOf(root)], ["deckhand 0.2.0", "notify"]);
      assert.deepEqual(await root.asked(), [
        "--system daemon-reload: /usr/bin/deckhand notify",
        "try-restart kubelet.service: /usr/bin/deckhand notify",
      ]);
      // Upstream's package is upgraded meanwhile, as packages on a machine are, and the agent keeps running.
      await install(root, await goKubelet("1.36.4-1.1", units));
      assert.deepEqual([await who(root), await typeOf(root)], ["deckhand 0.2.0", "notify"]);
      assert.deepEqual(await root.asked(), [
        "daemon-reload: /usr/bin/deckhand notify",
        "preset kubelet.service: /usr/bin/deckhand notify",
      ]);
      await root.must("dpkg", "--remove", "deckhand");
      assert.equal(await who(root), "Go 1.36.4-1.1");
      assert.equal(await root.must("cat", UNIT), UPSTREAM_UNIT);
      assert.deepEqual(await root.asked(), [
        "--system daemon-reload: /usr/bin/kubelet ",
        "try-restart kubelet.service: /usr/bin/kubelet ",
      ]);
      assert.equal(await root.must("dpkg-divert", "--list", "*kubelet*"), "");
      for (const path of ["/usr/bin/deckhand", ...PLACES.map((place) => `${place}.distrib`)]) {
        assert.equal(await root.exists(path), false, path);
      }
      assert.equal((await root.must("dpkg", "--verify", "kubelet")).trim(), "");
    });
  }

  test("provides the kubelet on which kubeadm depends where none is installed, and leaves none behind", async () => {
    const root = await newRoot();
    const kubeadm = await kubeadmPackage("1.36.4-1.1", directory.root);
    assert.match((await root.run("dpkg", "--install", kubeadm)).stderr, /kubeadm depends on kubelet/);
    await install(root, ours("0.1.0"), kubeadm);
    assert.deepEqual([await who(root), await stateOf(root, "kubeadm")], ["deckhand 0.1.0", "install ok installed"]);
    assert.deepEqual(await root.asked(), [
      "--system daemon-reload: /usr/bin/deckhand notify",
      "enable kubelet.service: /usr/bin/deckhand notify",
      "try-restart kubelet.service: /usr/bin/deckhand notify",
    ]);
    await root.must("dpkg", "--remove", "kubeadm", "deckhand");
    assert.deepEqual(await root.asked(), [
      "disable kubelet.service: /usr/bin/deckhand notify",
      "stop kubelet.service: /usr/bin/deckhand notify",
      "--system daemon-reload: /usr/bin/kubelet ",
    ]);
    for (const path of [...PLACES, "/usr/bin/deckhand", "/usr/share/doc/deckhand"]) {
      assert.equal(await root.exists(path), false, path);
    }
  });

  for (const [units, ...remove] of [
    ["/usr/lib", "apt-get", "--assume-yes", "remove"],
    ["/lib", "dpkg", "--remove"],
  ] as const) {
    test(`a kubelet package installed later is diverted, and its removal leaves Deckhand running, with units below ${units}, by ${remove[0]}`, async () => {
      const root = await newRoot();
      await install(root, ours("0.1.0"));
      await root.asked();
      await install(root, await goKubelet("1.36.4-1.1", units));
      assert.deepEqual([await who(root), await typeOf(root)], ["deckhand 0.1.0", "notify"]);
      assert.deepEqual(await root.asked(), ["preset kubelet.service: /usr/bin/deckhand notify"]);
      await root.must(...remove, "kubelet");
      assert.deepEqual([await who(root), await typeOf(root)], ["deckhand 0.1.0", "notify"]);
      assert.equal(await root.exists("/usr/bin/kubelet.distrib"), false);
      // Upstream's scripts act on their own service, and Deckhand's has the same name.
      assert.deepEqual(await root.asked(), [
        "--no-reload disable kubelet.service: /usr/bin/deckhand notify",
        "stop kubelet.service: /usr/bin/deckhand notify",
        "daemon-reload: /usr/bin/deckhand notify",
        "enable kubelet.service: /usr/bin/deckhand notify",
        "start kubelet.service: /usr/bin/deckhand notify",
      ]);
      assert.equal(await root.enabled(), true);
      assert.equal(await stateOf(root, "deckhand"), "install ok installed");
      await root.must("dpkg", "--purge", "kubelet");
      assert.deepEqual(await root.asked(), ["daemon-reload: /usr/bin/deckhand notify"]);
    });
  }

  test("removal together with the kubelet that it replaces starts nothing", async () => {
    const root = await newRoot();
    await install(root, await goKubelet("1.36.4-1.1"), ours("0.1.0"));
    await root.asked();
    await root.must("dpkg", "--remove", "kubelet", "deckhand");
    assert.deepEqual(
      (await root.asked()).filter((line) => /^(enable|start) /.test(line)),
      [],
    );
    assert.equal(await root.enabled(), false);
  });

  for (const [what, path, make] of [
    [
      "a service of the operator's own",
      "/etc/systemd/system/kubelet.service",
      `printf '[Service]\\nExecStart=/usr/local/bin/kubelet\\n[Install]\\nWantedBy=multi-user.target\\n' >`,
    ],
    ["one that is masked", "/etc/systemd/system/kubelet.service", "ln -s /dev/null"],
    ["one that is masked until the next boot", "/run/systemd/system/kubelet.service", "ln -s /dev/null"],
  ] as const) {
    test(`${what} is left unchanged, and a message says so`, async () => {
      const root = await newRoot();
      await root.must("sh", "-ec", `${make} ${path}`);
      const said = `deckhand: kubelet.service is ${path}, not the package's, and is left as it is`;
      for (const version of ["0.1.0", "0.2.0"]) {
        assert.ok((await install(root, ours(version))).includes(said));
      }
      await root.must("dpkg", "--remove", "deckhand");
      assert.deepEqual(await root.asked(), []);
      await install(root, await goKubelet("1.36.4-1.1"), ours("0.1.0"));
      await root.asked();
      await root.must("dpkg", "--remove", "kubelet");
      assert.deepEqual(
        (await root.asked()).filter((line) => /^(enable|start) /.test(line)),
        [],
      );
      await install(root, await goKubelet("1.36.4-1.1"));
      await root.asked();
      assert.ok((await root.must("dpkg", "--remove", "deckhand")).includes(said));
      assert.deepEqual(await root.asked(), []);
    });
  }

  for (const missing of ["libatomic1", "libc6", "libgcc-s1", "libstdc++6", "mount"]) {
    test(`without ${missing} dpkg rejects the package before anything is diverted, and the kubelet is unchanged`, async () => {
      const root = await newRoot();
      await install(root, await goKubelet("1.36.4-1.1"));
      await root.asked();
      // Missing only in dpkg's status file: dpkg's own programs need most of them.
      await root.must(
        "sed",
        "-i",
        `/^Package: ${missing}$/,/^$/s/^Status: .*/Status: deinstall ok config-files/`,
        "/var/lib/dpkg/status",
      );
      const { code, stderr } = await root.run("dpkg", "--install", ours("0.1.0"));
      assert.deepEqual([code, stderr.includes(`deckhand pre-depends on ${missing}`)], [1, true], stderr);
      assert.deepEqual([await who(root), await root.asked()], ["Go 1.36.4-1.1", []]);
      assert.equal(await root.must("dpkg-divert", "--list", "*kubelet*"), "");
    });
  }

  test("a service that does not start prints a message, and the package is still installed and can be removed", async () => {
    const root = await newRoot();
    await install(root, await goKubelet("1.36.4-1.1"));
    await root.fail("try-restart");
    const said = "deckhand: kubelet.service did not start again: see journalctl -u kubelet";
    const installed = await root.run("dpkg", "--install", ours("0.1.0"));
    assert.deepEqual([installed.code, installed.stderr.includes(said)], [0, true], installed.stderr);
    assert.deepEqual([await who(root), await stateOf(root, "deckhand")], ["deckhand 0.1.0", "install ok installed"]);
    const removed = await root.run("dpkg", "--remove", "deckhand");
    assert.deepEqual([removed.code, removed.stderr.includes(said)], [0, true], removed.stderr);
    assert.equal(await who(root), "Go 1.36.4-1.1");
  });

  test("is installed, inspected and removed by the commands in docs/install.md", async () => {
    const root = await newRoot();
    await install(root, await goKubelet("1.36.4-1.1"));
    await command("cp", [ours("0.0.0"), directory.path("page.deb")]);
    await root.must("cp", directory.path("page.deb"), "/root/deckhand_0.0.0_amd64.deb");
    const said = new Map<string, string>();
    for (const line of examplesUnder("docs/install.md", "The Debian package")) {
      said.set(line, await root.must("sh", "-ec", `cd /root; ${line}`));
    }
    assert.equal(said.get("kubelet --version"), "deckhand 0.0.0\n");
    assert.equal((said.get("dpkg-divert --list *kubelet*") ?? "").split(" by deckhand\n").length, PLACES.length + 1);
    assert.equal(await who(root), "Go 1.36.4-1.1");
  });

  test("without a running systemd, as in an image build, the service is enabled and not started", async () => {
    const root = await newRoot();
    await root.must("rm", "-r", "/run/systemd/system");
    await install(root, ours("0.1.0"));
    assert.deepEqual(await root.asked(), ["enable kubelet.service: /usr/bin/deckhand notify"]);
    assert.equal(await root.enabled(), true);
    await root.must("dpkg", "--remove", "deckhand");
    assert.deepEqual(await root.asked(), ["disable kubelet.service: /usr/bin/deckhand notify"]);
    assert.equal(await root.enabled(), false);
  });

  test("reinstallation enables the service again, unless the operator had disabled it", async () => {
    const root = await newRoot();
    const enabledAfter = async (...commands: ReadonlyArray<readonly string[]>) => {
      for (const line of commands) await root.must(...line);
      return root.enabled();
    };
    const [first, later] = [ours("0.1.0"), ours("0.2.0")];
    const go = await goKubelet("1.36.4-1.1");
    const put = (file: string) => ["dpkg", "--install", file];
    const remove = (name: string) => ["dpkg", "--remove", name];
    assert.equal(await enabledAfter(put(first), remove("deckhand"), put(first)), true);
    // Meanwhile the service belonged to the other package, whose removal disabled it.
    assert.equal(await enabledAfter(put(go), remove("deckhand"), remove("kubelet"), put(first)), true);
    assert.equal(await enabledAfter(["systemctl", "disable", "kubelet.service"], put(later)), false);
    assert.equal(await enabledAfter(remove("deckhand"), put(first)), false);
    assert.equal(await enabledAfter(["dpkg", "--purge", "deckhand"], put(first)), true);
    await root.must("dpkg", "--purge", "deckhand", "kubelet");
    assert.equal(await root.exists("/var/lib/deckhand"), false);
  });

  test("systemd-analyze accepts the unit with kubeadm's drop-in", async () => {
    const root = await newRoot();
    await install(root, ours("0.1.0"), await kubeadmPackage("1.36.4-1.1", directory.root));
    const { code, stdout, stderr } = await root.run("systemd-analyze", "verify", "--man=no", "kubelet.service");
    assert.deepEqual([code, `${stdout}${stderr}`], [0, ""]);
  });
});
