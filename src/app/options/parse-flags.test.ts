import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOf, load } from "../../../test/support/options.ts";
import { parseFlags } from "./parse-flags.ts";

for (const [args, expected] of [
  [["--max-pods", "5"], { maxPods: 5 }],
  [["--max-pods=5", "--max-pods=0x10"], { maxPods: 16 }],
  [["--max_pods=7"], { maxPods: 7 }],
  [["--fail-swap-on"], { failSwapOn: true }],
  [["--fail-swap-on=false"], { failSwapOn: false }],
  [["--fail-swap-on=F"], { failSwapOn: false }],
  [["-v", "4"], { "logging.verbosity": 4 }],
  [["-v4"], { "logging.verbosity": 4 }],
  [["-v=4"], { "logging.verbosity": 4 }],
  [["--v=4"], { "logging.verbosity": 4 }],
  [["--sync-frequency=1m30s"], { syncFrequency: 90_000_000_000n }],
  [
    ["--eviction-hard=memory.available<1Gi,nodefs.available<5%"],
    { evictionHard: { "memory.available": "1Gi", "nodefs.available": "5%" } },
  ],
  [["--eviction-hard="], { evictionHard: {} }],
  [["--kube-reserved=cpu=1", "--kube-reserved= memory = 1Gi "], { kubeReserved: { cpu: "1", memory: "1Gi" } }],
  [["--cpu-manager-policy-options=a=b,c=d"], { cpuManagerPolicyOptions: { a: "b,c=d" } }],
  [
    ["--feature-gates=AllBeta=true", "--feature-gates=MemoryQoS=T"],
    { featureGates: { AllBeta: true, MemoryQoS: true } },
  ],
  [["--cluster-dns=1.1.1.1,2.2.2.2", "--cluster-dns", '"3.3.3.3"'], { clusterDNS: ["1.1.1.1", "2.2.2.2", "3.3.3.3"] }],
  [["--manifest-url-header=a:b,a:c"], { staticPodURLHeader: { a: ["b", "c"] } }],
  [
    ["--vmodule=status=4,pod-*=6"],
    {
      "logging.vmodule": [
        { filePattern: "status", verbosity: 4 },
        { filePattern: "pod-*", verbosity: 6 },
      ],
    },
  ],
  [
    ["--register-with-taints=a=b:NoSchedule,c:NoExecute"],
    {
      registerWithTaints: [
        { key: "a", value: "b", effect: "NoSchedule", timeAdded: undefined },
        { key: "c", value: "", effect: "NoExecute", timeAdded: undefined },
      ],
    },
  ],
  [["--address= ::1 "], { address: "::1" }],
] as const) {
  void test(`[1.2] ${args.join(" ")}`, () => {
    assert.deepEqual(Object.fromEntries(parseFlags(args).fields), expected);
  });
}

/** Each text is the Go kubelet v1.36.4's; test/integration/options-differential.test.ts compares them. */
for (const [args, fault] of [
  [["--nope"], "unknown flag: --nope"],
  [["--pod-infra-container-image=x"], "unknown flag: --pod-infra-container-image"],
  [["-z"], "unknown shorthand flag: 'z' in -z"],
  [["--=x"], "bad flag syntax: --=x"],
  [["--max-pods"], "flag needs an argument: --max-pods"],
  [["-v"], "flag needs an argument: 'v' in -v"],
  [["--max-pods=abc"], 'invalid argument "abc" for "--max-pods" flag: strconv.ParseInt: parsing "abc": invalid syntax'],
  [
    ["--max-pods=99999999999"],
    'invalid argument "99999999999" for "--max-pods" flag: strconv.ParseInt: parsing "99999999999": value out of range',
  ],
  [["--v=x"], 'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax'],
  [
    ["--anonymous-auth=maybe"],
    'invalid argument "maybe" for "--anonymous-auth" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
  ],
  [["--sync-frequency=5"], 'invalid argument "5" for "--sync-frequency" flag: time: missing unit in duration "5"'],
  [["--address=zzz"], 'invalid argument "zzz" for "--address" flag: "zzz" is not a valid IP address'],
  [
    ["--eviction-hard=memory.available=1"],
    'invalid argument "memory.available=1" for "--eviction-hard" flag: malformed pair, expect string<string',
  ],
  [["--kube-reserved=cpu"], 'invalid argument "cpu" for "--kube-reserved" flag: malformed pair, expect string=string'],
  [
    ["--feature-gates=NodeSwap"],
    'invalid argument "NodeSwap" for "--feature-gates" flag: malformed pair, expect string=bool',
  ],
  [["--register-with-taints=a"], 'invalid argument "a" for "--register-with-taints" flag: invalid taint spec: a'],
  [["--vmodule=a"], 'invalid argument "a" for "--vmodule" flag: "a" does not have the pattern=N format'],
] as const) {
  void test(`[1.2] ${args.join(" ")} is rejected with pflag's message`, () => {
    assert.equal(faultOf(args), `failed to parse kubelet flag: ${fault}`);
  });
}

void test("[1.1] an argument that is not a flag is rejected as an unknown command", () => {
  for (const args of [["x"], ["--v=2", "x", "--nope2=1"].slice(0, 2), ["--", "x"]]) {
    assert.equal(faultOf(args), "unknown command x");
  }
});

void test("[1.2] only deprecated flags print a deprecation", () => {
  const { deprecations } = parseFlags(["--max-pods=1", "--v=1", "--seccomp-default", "--maximum-dead-containers=3"]);
  assert.deepEqual(
    deprecations.map((line) => line.split(",")[0]),
    ["Flag --max-pods has been deprecated", "Flag --maximum-dead-containers has been deprecated"],
  );
});

void test("[1.2] flags of cAdvisor are accepted with a warning that they have no effect", () => {
  const { options } = load(["--storage-driver-db=x", "--housekeeping-interval=20s"]);
  assert.ok(options.warnings.includes("--storage-driver-db is set without effect: Deckhand has no cAdvisor"));
});
