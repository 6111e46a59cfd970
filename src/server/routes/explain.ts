/**
 * /explain/pod/{namespace}/{pod} and /explain/node: the answers of `deckhand explain`, as JSON or with `?output=text` as
 * text. `?uid=` selects one of several pods that had the name one after the other. What is unknown is a 404 with an API
 * Status, whose message kubectl prints.
 */
import type { ServerResponse } from "node:http";
import type { Answer } from "../../domain/explain/entry.ts";
import type { Explanation, Question } from "../../domain/explain/explain.ts";
import { type NodeExplanation, nodeExplanationJson, nodeExplanationText } from "../../domain/explain/explain-node.ts";
import { explanationJson, explanationText } from "../../domain/explain/show.ts";
import { OBJECT_NAME_CHARS_MAX } from "../limits.ts";
import { plainRoute, READ } from "../plain-route.ts";
import { failureStatus, send as sendAs, sendJson, sendText } from "../responses.ts";
import { HttpError, type Route } from "../route.ts";

/** Answers from the journal. */
export interface Explanations {
  pod(question: Question, signal: AbortSignal): Promise<Answer<Explanation>>;
  node(signal: AbortSignal): Promise<Answer<NodeExplanation>>;
}

const ACCESS = { methods: READ, subresources: ["pods", "proxy"] } as const;

export const explainRoutes = (explanations: Explanations, wallMs: () => number): readonly Route[] => [
  plainRoute("/explain/pod/{namespace}/{pod}", ACCESS, async ({ parts, query, signal }, response) => {
    const output = outputOf(query);
    const nowWallMs = wallMs();
    const { namespace = "", pod = "" } = parts;
    if (Math.max(namespace.length, pod.length) > OBJECT_NAME_CHARS_MAX)
      throw new HttpError(400, "the name is too long");
    const question = {
      pod: `${namespace}/${pod}`,
      uid: query.get("uid") ?? undefined,
      nowWallMs,
    };
    send(response, await explanations.pod(question, signal), {
      text: (explanation) => explanationText(explanation, nowWallMs),
      json: explanationJson,
      output,
    });
  }),
  plainRoute("/explain/node", ACCESS, async ({ query, signal }, response) => {
    const output = outputOf(query);
    send(response, await explanations.node(signal), {
      text: (explanation) => nodeExplanationText(explanation, wallMs()),
      json: nodeExplanationJson,
      output,
    });
  }),
];

function outputOf(query: URLSearchParams): "text" | "json" {
  const output = query.get("output") ?? "json";
  if (output !== "text" && output !== "json") throw new HttpError(400, `output is text or json, not ${output}`);
  return output;
}

function send<T>(
  response: ServerResponse,
  answer: Answer<T>,
  forms: { readonly text: (found: T) => string; readonly json: (found: T) => string; readonly output: "text" | "json" },
): void {
  if (answer.kind === "unknown") {
    const status = failureStatus(404, "NotFound", answer.text.trim());
    sendAs(response, 404, "application/json", `${JSON.stringify(status)}\n`);
  } else if (forms.output === "text") sendText(response, 200, forms.text(answer.explanation));
  else sendJson(response, forms.json(answer.explanation));
}
