import { startCluster } from "../cluster/cluster.ts";
import { apiServerContract } from "../contract/api-server-contract.ts";
import { clientOf, newNamespace } from "./api-world.ts";

apiServerContract("the real API server over wire/kube-api", async () => {
  const cluster = await startCluster({ controlPlane: "api", nodes: [] });
  const api = await clientOf(cluster, { retriesMax: 0 });
  return {
    api,
    namespace: () => newNamespace(api),
    // What happened is kept in the server's memory: started again, it knows the present only.
    forgetHistory: () => cluster.component("kube-apiserver").restart(),
    async close() {
      await api.close();
      await cluster.down();
    },
  };
});
