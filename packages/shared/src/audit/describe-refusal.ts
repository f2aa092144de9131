import type { OAuthError } from "@edge-op/protocol/oauth/errors";
import { loggedUri, loggedValue } from "@edge-op/protocol/oauth/shown-value";
import { limits } from "../config/limits.ts";
import { formPairs } from "../http/form-pairs.ts";
import type { RequestContext, SentRequest } from "../http/request-context.ts";
import type { ReportedRefusal, SentParameters } from "./audit-log-rpc.ts";

/** The parameters that are kept: those that an administrator compares with a registration. None contains a secret, a token or personal data. */
const uris = ["redirect_uri", "post_logout_redirect_uri", "resource", "audience"];
const words = [
  ...["scope", "grant_type", "response_type", "response_mode", "prompt", "acr_values", "code_challenge_method"],
  ...["subject_token_type", "actor_token_type", "requested_token_type"],
];
const mostValues = 16;
const longestDetail = 1_000;

/** A JWT, or a text as long as 256 random bits: somebody sent a credential in a parameter that has none. */
const credential = /eyJ[\w-]+(?:\.[\w-]*)*|[\w-]{43,}/g;

/**
 * **A refusal as it is reported**: what its log line has, and the parameters of the request that a registration may contradict. A text that could be a
 * credential is not kept, whatever the parameter. Cost: the parameters are read once more.
 */
export function describeRefusal(
  { arrivedAtMs: atMs, requestId, endpoint, method, progress }: RequestContext<unknown>,
  { code, reason, detail }: OAuthError,
  request: SentRequest | undefined,
): ReportedRefusal {
  const { clientId, claimedClientId, namesKnownClient = false } = progress;
  const isKnownClient = clientId !== undefined || (namesKnownClient && claimedClientId !== undefined);
  const named = isKnownClient ? (clientId ?? claimedClientId) : claimedClientId && keptValue(claimedClientId);
  return {
    ...{ atMs, requestId, endpoint, method, clientId: named, isKnownClient, code, reason },
    isAuthenticated: clientId !== undefined,
    detail: detail.slice(0, longestDetail),
    sent: request === undefined ? {} : sentParameters(request, progress.parameters),
  };
}

function keptValue(value: string): string {
  return loggedValue(value.replace(credential, "…"));
}

function keptUri(value: string): string {
  return loggedUri(value).replace(credential, "…");
}

function sentParameters(
  request: SentRequest,
  decided: RequestContext<unknown>["progress"]["parameters"],
): SentParameters {
  const pairs = [...readPairs(request)].slice(0, limits.formParameters);
  const sent: Record<string, readonly string[]> = {};
  const keep = (name: string, values: readonly string[]) => {
    if (values.length > 0) sent[name] = values.slice(0, mostValues);
  };
  const valuesOf = (name: string) =>
    decided?.all(name) ?? pairs.flatMap(([own, value]) => (own === name ? [value] : []));
  for (const name of uris) keep(name, valuesOf(name).map(keptUri));
  for (const name of words) keep(name, valuesOf(name).map(keptValue));
  if (request.method === "POST") keep("token_endpoint_auth_method", presentedMethods(request.headers, pairs));
  return sent;
}

function readPairs({ method, url, text }: SentRequest): Iterable<readonly [string, string]> {
  return method === "POST" ? formPairs(text ?? "") : new URL(url).searchParams;
}

/** Every method of client authentication that the request has. A certificate is not among them: it belongs to the connection. */
function presentedMethods(headers: Headers, pairs: readonly (readonly [string, string])[]): string[] {
  const has = (name: string) => pairs.some(([own]) => own === name);
  const methods = [
    ...(/^Basic /i.test(headers.get("authorization") ?? "") ? ["client_secret_basic"] : []),
    ...(has("client_secret") ? ["client_secret_post"] : []),
    ...(has("client_assertion") ? ["private_key_jwt"] : []),
  ];
  return methods.length === 0 && has("client_id") ? ["none"] : methods;
}
