import { startCluster } from "../cluster/cluster.ts";
import { apiServerContract } from "../contract/api-server-contract.ts";
import { clientOf, identityOf, newNamespace } from "./api-world.ts";

apiServerContract("the real API server over wire/kube-api", async () => {
  const cluster = await startCluster({ controlPlane: "api", nodes: [] });
  const api = await clientOf(cluster, { retriesMax: 0 });
  const clients = [api];
  return {
    api,
    namespace: () => newNamespace(api),
    asNode: async (name) => {
      const credentials = await identityOf(cluster, `system:node:${name}`, ["system:nodes"]);
      const client = await clientOf(cluster, { retriesMax: 0, credentials });
      clients.push(client);
      return client;
    },
    // The API server keeps watch history in memory only: a restart discards it.
    forgetHistory: () => cluster.component("kube-apiserver").restart(),
    async close() {
      for (const client of clients) await client.close();
      await cluster.down();
    },
  };
});
