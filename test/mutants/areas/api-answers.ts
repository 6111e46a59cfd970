import type { MutantArea } from "../mutant.ts";

const SUITE = "endpoints-differential";

export const API_ANSWERS: MutantArea = {
  area: "API answers",
  mutants: [
    {
      name: "conditions in /pods lack the time of their last probe",
      file: "src/server/routes/pods.ts",
      find: "conditions.map((one) => ({ lastProbeTime: null, ...one }))",
      replace: "conditions",
      suite: SUITE,
      cases: "^api operator GET /pods$",
      tests: "\\[20\\.4\\]",
    },
    {
      name: "containers in /runningpods/ lack their resources",
      file: "src/server/routes/pods.ts",
      find: "  image: image.image,\n  resources: {},\n",
      replace: "  image: image.image,\n",
      suite: SUITE,
      cases: "^api operator GET /runningpods/$",
      tests: "\\[20\\.4\\]",
    },
    {
      name: "an answer to a wrong method does not say which are allowed",
      file: "src/server/dispatch.ts",
      find: "      ...(error instanceof MethodNotAllowed ? { Allow: error.allow } : {}),\n",
      replace: "",
      suite: SUITE,
      cases: "^api operator \\w+ /(?:pods|configz)$",
      tests: "\\[20\\.4\\]",
    },
    {
      name: "an unknown health check is answered without a line end",
      file: "src/server/routes/health.ts",
      find: 'throw new HttpError(404, "404 page not found\\n");',
      replace: 'throw new HttpError(404, "404 page not found");',
      suite: SUITE,
      cases: "^api operator GET /healthz/none$",
      tests: "\\[20\\.6\\]",
    },
    {
      name: "a refusal for want of permission does not name the subresources",
      file: "src/server/authorization.ts",
      find: ", subresource(s)=[${names}])\\n`",
      replace: ")\\n`",
      suite: SUITE,
      cases: "^api poor GET /(?:pods|configz)$",
      tests: "\\[20\\.1\\]",
    },
    {
      name: "a log of an unknown container is refused as a bad request",
      file: "src/server/container-logs.ts",
      find: "throw new HttpError(404, `container ${goQuote(container)} not found",
      replace: "throw new HttpError(400, `container ${goQuote(container)} not found",
      suite: SUITE,
      cases: "^api operator GET /containerLogs/NS/plain/none$",
      tests: "\\[20\\.11\\]",
    },
  ],
};
