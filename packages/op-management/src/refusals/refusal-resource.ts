import { explainReason } from "@edge-op/protocol/oauth/explain-reason";
import type { StoredRefusal } from "@edge-op/shared/audit/audit-log-rpc";
import type { ClientMetadata } from "@edge-op/shared/clients/client";
import * as z from "zod";

const values = z.array(z.string());

const parameterSchema = z.strictObject({
  name: z.string().describe("A parameter; `token_endpoint_auth_method` is the method of client authentication."),
  sent: values.describe(
    "Its values, shortened to 200 characters. A URI has no user information, query values and fragment.",
  ),
  registered: values
    .optional()
    .describe("The values that the client has registered now; absent if it has registered none."),
});

/** **A refused request**, with what its reason means and what to change. */
export const refusalSchema = z
  .strictObject({
    request_id: z.string().describe("The header `Request-Id` of the response."),
    time: z.string().describe("When the request arrived (RFC 3339)."),
    endpoint: z.string().optional().describe("The path as it is routed, or `validateToken`."),
    method: z.string().optional().describe("The HTTP method; `RPC` for a Service Binding."),
    client_id: z.string().optional().describe("The client, as authenticated or as named by the request."),
    is_authenticated: z.boolean().describe("Whether the client has authenticated, or its token was verified."),
    error: z.string().describe("The error code of the response."),
    reason: z.string().describe("The reason: a stable code."),
    explanation: z.string().describe("The meaning of the reason, in Markdown."),
    detail: z.string().describe("Details of the request as they were logged; nothing should match on them."),
    remedy: z.string().describe("How to fix it, in Markdown."),
    documentation: z.string().describe("The page about it, as a path in the repository of Edge OP."),
    parameters: z.array(parameterSchema).describe("The sent parameters that a registration may contradict."),
    omitted_before: z.int().describe("Refusals of the deployment since the one before that were not recorded."),
  })
  .meta({
    id: "Refusal",
    examples: [
      {
        ...{ request_id: "9f2c1b7a6d3e4f50", time: "2026-11-24T16:06:40.000Z", endpoint: "/authorize", method: "GET" },
        ...{ client_id: "photos", is_authenticated: false, error: "invalid_request" },
        reason: "redirect-uri-not-registered",
        ...explainReason("redirect-uri-not-registered"),
        detail: "https://photos.example.com/cb is not among https://photos.example.com/callback",
        parameters: [
          {
            ...{ name: "redirect_uri", sent: ["https://photos.example.com/cb"] },
            registered: ["https://photos.example.com/callback"],
          },
        ],
        omitted_before: 0,
      },
    ],
  });

/** The members of a registration by the parameter that they limit. */
const registeredFor: Readonly<Record<string, (metadata: ClientMetadata) => readonly string[] | undefined>> = {
  redirect_uri: ({ redirect_uris }) => redirect_uris,
  post_logout_redirect_uri: ({ post_logout_redirect_uris }) => post_logout_redirect_uris,
  resource: ({ audiences }) => audiences,
  audience: ({ audiences }) => audiences,
  scope: ({ scope }) => words(scope),
  grant_type: ({ grant_types }) => grant_types,
  response_type: ({ response_types }) => response_types,
  token_endpoint_auth_method: ({ token_endpoint_auth_method }) => [token_endpoint_auth_method],
};

/** `metadata`: the client's present registration, if it exists. */
export function showRefusal(
  refusal: StoredRefusal,
  metadata: ClientMetadata | undefined,
): z.input<typeof refusalSchema> {
  const { requestId, atMs, endpoint, method, clientId, isAuthenticated, code, reason, detail, omittedBefore } = refusal;
  return {
    request_id: requestId,
    time: new Date(atMs).toISOString(),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(method === undefined ? {} : { method }),
    ...(clientId === undefined ? {} : { client_id: clientId }),
    is_authenticated: isAuthenticated,
    error: code,
    reason,
    detail,
    ...explainReason(reason),
    parameters: Object.entries(refusal.sent).map(([name, sent]) => {
      const registered = metadata && registeredFor[name]?.(metadata);
      const shown = name === "scope" ? sent.flatMap(words) : [...sent];
      return { name, sent: shown, ...(registered === undefined ? {} : { registered: [...registered] }) };
    }),
    omitted_before: omittedBefore,
  };
}

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}
