/**
 * DNS for Services without a pod: CoreDNS runs as a process of the node, at the DNS address that the node gives its
 * pods. The agent is under test: if one of its pods were the name server, every failure would look like a DNS failure.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster, ClusterNode } from "../cluster/cluster.ts";
import { SERVICE_DNS } from "../cluster/layout.ts";
import type { Parts } from "../cluster/parts.ts";

/** Two server blocks: in a single one, the answer "no such name" would come before all others. */
const corefile = (kubeconfig: string) => `cluster.local in-addr.arpa ip6.arpa {
  bind ${SERVICE_DNS}
  errors
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
    ttl 5
  }
}

. {
  bind ${SERVICE_DNS}
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`;

export async function startClusterNames(cluster: Cluster, node: ClusterNode, parts: Parts): Promise<void> {
  const added = await node.run("ip", "addr", "add", `${SERVICE_DNS}/32`, "dev", "lo");
  if (added.code !== 0) throw new Error(added.stderr);
  const file = join(node.directory, "Corefile");
  await writeFile(file, corefile(cluster.api.kubeconfig));
  await cluster.start(
    {
      name: `coredns@${node.name}`,
      command: [parts.path("coredns"), "-conf", file],
      ready: { kind: "listens", port: 53 },
    },
    node,
  );
}
