import { unreachable } from "../connection/authorize.ts";
import type { Finding } from "../console/findings.ts";
import { type ApiResponse, basicAuthorization, readResponse } from "../provider-api.ts";
import type { Metadata } from "../tokens/explain-token.ts";
import type { RelyingParty } from "./relying-party.ts";

/**
 * **Requests as the relying party makes them**, which the provider refuses for its mistakes. None of them signs anybody in or changes anything:
 * `prompt=none` without a session, a code that does not exist, a logout without a session.
 */
export interface Registration {
  readonly redirect_uris?: readonly string[];
  readonly post_logout_redirect_uris?: readonly string[];
  readonly token_endpoint_auth_method?: string;
  readonly id_token_signed_response_alg?: string;
  readonly scope?: string;
  readonly audiences?: readonly string[];
}

const responseMs = 15_000;

async function request(url: string, init: RequestInit): Promise<ApiResponse> {
  const all: RequestInit = { ...init, redirect: "manual", signal: AbortSignal.timeout(responseMs) };
  try {
    return await readResponse(await fetch(url, all));
  } catch (error) {
    throw unreachable(error) ?? error;
  }
}

const asJson = { accept: "application/json" };

/** Errors of an authorization response: what is wrong, and the check that it belongs to. */
const meanings: Readonly<Record<string, readonly [string, string]>> = {
  unsupported_response_type: ["response type", "Send response_type=code: tokens are never in a URL."],
  unauthorized_client: ["grant type", "Add authorization_code to the client's grant_types."],
  invalid_scope: ["scope", "Request only scopes of the registration, or add the scope to the client's scope."],
  invalid_target: ["audience", "Add the resource to the client's audiences, or let the resource admit the client."],
};

/** Needs a client and a redirect URI. */
export async function checkAuthorization(
  party: RelyingParty,
  metadata: Metadata,
  registered: Registration | undefined,
): Promise<Finding[]> {
  const { client_id: id, redirect_uri: redirectUri } = party;
  if (id === undefined || redirectUri === undefined) return [];
  const parameters = {
    response_type: party.response_type ?? "code",
    client_id: id,
    redirect_uri: redirectUri,
    scope: party.scope ?? "openid",
    ...pick(party, ["resource", "code_challenge", "code_challenge_method", "nonce"]),
    prompt: "none",
    state: "doctor",
  };
  const { status, headers, body } = await request(
    `${metadata.authorization_endpoint}?${new URLSearchParams(parameters)}`,
    { headers: asJson },
  );
  const location = headers.get("location");
  if (location === null) return [refusedBeforeRedirect(party, body, status, registered)];
  const redirect: Finding = { check: "redirect URI", result: "right", text: redirectUri };
  const response = new URL(location, metadata.issuer);
  const result = response.searchParams.size > 0 ? response.searchParams : new URLSearchParams(response.hash.slice(1));
  const error = result.get("error");
  const description = result.get("error_description") ?? "";
  if (error === null || /_required$/.test(error)) return [redirect, checkChallenge(party)];
  const [check, mend] =
    meanings[error] ??
    (/code_challenge/.test(description) ? pkce : ["authorization request", "See the error description."]);
  return [redirect, { check, result: "wrong", text: `${error}: ${description}`, mend }];
}

const pkce = ["PKCE", "Enable PKCE (S256) in the library; it protects the code against interception."] as const;

function checkChallenge({ code_challenge: challenge }: RelyingParty): Finding {
  if (challenge !== undefined) return { check: "PKCE", result: "right", text: "the request has a code_challenge" };
  return { check: "PKCE", result: "right", text: "this client is registered to do without it; enable it all the same" };
}

function refusedBeforeRedirect(
  { client_id: id, redirect_uri: sent = "" }: RelyingParty,
  body: ApiResponse["body"],
  status: number,
  registered: Registration | undefined,
): Finding {
  if (body["error"] === "invalid_client") {
    const mend =
      "Compare client_id with the registration, and the issuer with the provider that has it; a disabled client must be enabled.";
    return { check: "client", result: "wrong", text: `${id} is unknown or disabled`, mend };
  }
  if (status === 400 && /redirect_uri/.test(String(body["error_description"]))) {
    const others = registered?.redirect_uris ?? [];
    const known = others.length === 0 ? "" : ` Registered: ${others.join(", ")}.`;
    const mend = `URIs are compared byte for byte: scheme, port, path, a slash at the end.${known}`;
    return { check: "redirect URI", result: "wrong", text: `${sent} is not registered`, mend };
  }
  const text = `status ${status}: ${String(body["error"])}: ${String(body["error_description"])}`;
  return { check: "authorization request", result: "wrong", text };
}

function pick(party: RelyingParty, names: readonly (keyof RelyingParty)[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (typeof party[name] === "string" ? [[name, party[name]]] : [])));
}

/** Sends a code that does not exist: the client is authenticated before the code is looked at (RFC 6749 §5.2). */
export async function checkAuthentication(
  party: RelyingParty,
  metadata: Metadata,
  registered: Registration | undefined,
): Promise<Finding[]> {
  const { client_id: id, client_secret: secret } = party;
  const method = party.token_endpoint_auth_method ?? (secret === undefined ? undefined : "client_secret_basic");
  if (id === undefined || method === undefined) return [];
  const check = "client authentication";
  const supported = metadata.token_endpoint_auth_methods_supported ?? [];
  if (!supported.includes(method)) {
    return [
      { check, result: "wrong", text: `${method} is not supported`, mend: `Use one of ${supported.join(", ")}.` },
    ];
  }
  const own = registered?.token_endpoint_auth_method;
  const usesSecret = method.startsWith("client_secret");
  if (own !== undefined && own !== method && !(usesSecret && own.startsWith("client_secret")))
    return [differs(method, own)];
  if (!usesSecret && method !== "none")
    return [{ check, result: own === undefined ? "unknown" : "right", text: method }];
  if (usesSecret && secret === undefined) return [{ check, result: "unknown", text: "the secret is not given" }];
  const form = {
    grant_type: "authorization_code",
    code: "doctor",
    redirect_uri: party.redirect_uri ?? "https://invalid.example",
    code_verifier: "doctor".repeat(8),
  };
  const posted = { ...form, client_id: id, ...(usesSecret ? { client_secret: secret! } : {}) };
  const isBasic = method === "client_secret_basic";
  const headers = isBasic ? { authorization: basicAuthorization({ client_id: id, client_secret: secret! }) } : {};
  const body = new URLSearchParams(isBasic ? form : posted);
  const response = await request(metadata.token_endpoint, { method: "POST", headers, body });
  if (response.body["error"] !== "invalid_client") return [{ check, result: "right", text: method }];
  return [usesSecret ? wrongSecret(method) : differs(method, own)];
}

function differs(method: string, registered: string | undefined): Finding {
  const text = `the client sends ${method}, ${registered === undefined ? "and its registration differs" : `registered is ${registered}`}`;
  const mend =
    "Change the library's authentication method, or the client's token_endpoint_auth_method: they must be equal.";
  return { check: "client authentication", result: "wrong", text, mend };
}

function wrongSecret(method: string): Finding {
  const mend =
    "Compare the secret with the one that was shown at registration (in a header, both halves are form-encoded), and the method with the registration. A lost secret is replaced: edge-op clients secrets rotate.";
  return {
    check: "client authentication",
    result: "wrong",
    text: `${method} is refused: another secret, or another method is registered`,
    mend,
  };
}

/** A logout without a session ends nothing. */
export async function checkLogout(
  party: RelyingParty,
  metadata: Metadata,
  registered: Registration | undefined,
): Promise<Finding[]> {
  const { client_id: id, post_logout_redirect_uri: uri } = party;
  if (id === undefined || uri === undefined || metadata.end_session_endpoint === undefined) return [];
  const parameters = new URLSearchParams({ client_id: id, post_logout_redirect_uri: uri });
  const page = await request(`${metadata.end_session_endpoint}?${parameters}`, { headers: { accept: "text/html" } });
  const check = "post-logout URI";
  // The page offers the sign-out all the same, and says what is wrong with the request.
  if (page.status < 400 && !page.text.includes('id="fault"')) return [{ check, result: "right", text: uri }];
  const others = registered?.post_logout_redirect_uris ?? [];
  const known = others.length === 0 ? "" : ` Registered: ${others.join(", ")}.`;
  return [
    {
      check,
      result: "wrong",
      text: `${uri} is not registered`,
      mend: `Add it to post_logout_redirect_uris of the client, byte for byte.${known}`,
    },
  ];
}
