import { httpFetchContract } from "../test/contract/http-fetch-contract.ts";
import { FakeHttp } from "./fake-http.ts";
import { VirtualClock } from "./virtual-clock.ts";

httpFetchContract("fake HTTP", () => {
  const clock = new VirtualClock();
  const http = new FakeHttp(clock);
  const url = "http://pods.example";
  http.pages.set(`${url}/echo`, ({ headers }) => ({
    kind: "answer",
    status: 200,
    body: headers["X-Token"]?.join(", ") ?? "",
  }));
  http.pages.set(`${url}/moved`, { kind: "redirect", location: "/echo" });
  http.pages.set(`${url}/circle`, { kind: "redirect", location: "/circle" });
  http.pages.set(`${url}/large`, { kind: "answer", status: 200, body: "x".repeat(1001) });
  http.pages.set(`${url}/slow`, { kind: "answer", status: 200, body: "late", delayMs: 60_000 });
  const nobody = "http://nobody.example/";
  http.pages.set(nobody, { kind: "refused" });
  return Promise.resolve({ http, url, nobody, pass: (ms) => clock.advance(ms), close: () => Promise.resolve() });
});
