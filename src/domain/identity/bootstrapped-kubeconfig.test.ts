import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { bootstrappedKubeconfig } from "./bootstrapped-kubeconfig.ts";

test("[2.10] [2.11] [2.12] the kubeconfig written at bootstrap keeps the proxy, the server's name and the insecure flag", () => {
  const clusterOf = (text: string) =>
    (parse(text) as { readonly clusters: readonly [{ readonly cluster: object }] }).clusters[0].cluster;
  const server = "https://api.example:6443";
  const written = bootstrappedKubeconfig(
    {
      url: server,
      serverName: "kubernetes",
      proxyUrl: 'http://user:"@proxy:3128',
      isInsecure: true,
      authority: undefined,
    },
    "/pki/current.pem",
  );
  assert.deepEqual(clusterOf(written), {
    "insecure-skip-tls-verify": true,
    "proxy-url": 'http://user:"@proxy:3128',
    server,
    "tls-server-name": "kubernetes",
  });
  const usual = bootstrappedKubeconfig({ url: server, authority: { kind: "data", pem: "CA" } }, "/pki/current.pem");
  assert.deepEqual(clusterOf(usual), { "certificate-authority-data": "Q0E=", server });
});
