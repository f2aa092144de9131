import { decodeBase64Text } from "@edge-op/protocol/encoding/bytes";
import { OAuthError, type OAuthErrorOptions } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { type ClientAuthMethod, usesSecret } from "@edge-op/protocol/oauth/registered-names";
import { type Client, isPublicClient } from "../clients/client.ts";
import type { Form } from "../http/read-form.ts";

export type PresentedCredentials =
  | {
      readonly method: "client_secret_basic" | "client_secret_post";
      readonly clientId: string;
      readonly secret: string;
    }
  | { readonly method: "private_key_jwt"; readonly clientId: string | undefined; readonly assertion: string }
  | { readonly method: "none"; readonly clientId: string };

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** `WWW-Authenticate` belongs to a refusal only when the client used the header (RFC 6749 §5.2). */
export function invalidClient(
  reason: RefusalReason,
  usedHeader: boolean,
  { detail, description }: Pick<OAuthErrorOptions, "detail" | "description"> = {},
): OAuthError {
  return new OAuthError("invalid_client", reason, {
    ...(usedHeader ? { headers: { "WWW-Authenticate": 'Basic realm="oauth"' } } : {}),
    detail,
    description,
  });
}

/** Text without form-encoded characters. */
const plain = /^[\w.*-]+$/;

/** `application/x-www-form-urlencoded` decoding of one half of the Basic credentials (RFC 6749 §2.3.1). */
function decodeHalf(text: string): string | undefined {
  if (plain.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function decodeBasic(header: string): { clientId: string; secret: string } | undefined {
  const pair = decodeBase64Text(/^Basic +(\S+)$/i.exec(header)?.[1] ?? "");
  if (pair === undefined) return undefined;
  const colon = pair.indexOf(":");
  if (colon < 1) return undefined;
  const clientId = decodeHalf(pair.slice(0, colon));
  const secret = decodeHalf(pair.slice(colon + 1));
  return clientId === undefined || secret === undefined ? undefined : { clientId, secret };
}

/**
 * **Reads the client authentication of a request**: exactly one method, or the request is refused. The comparison with the
 * registered method comes later ({@link requireRegistered}). `header` is the `Authorization` header.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-2.3
 * @see https://www.rfc-editor.org/rfc/rfc7521#section-4.2
 */
export function readPresentedCredentials(header: string | null, form: Form): PresentedCredentials {
  const secret = form.get("client_secret");
  const assertion = form.get("client_assertion");
  const formClientId = form.get("client_id");

  const methods = (header === null ? 0 : 1) + (secret === undefined ? 0 : 1) + (assertion === undefined ? 0 : 1);
  if (methods > 1) throw new OAuthError("invalid_request", "client-authentication-repeated");

  if (header !== null) {
    const basic = decodeBasic(header);
    if (basic === undefined) throw invalidClient("client-header-malformed", true);
    if (formClientId !== undefined && formClientId !== basic.clientId) {
      throw invalidClient("client-id-differs", true);
    }
    return { method: "client_secret_basic", ...basic };
  }
  if (assertion !== undefined) {
    if (form.get("client_assertion_type") !== assertionType) {
      throw new OAuthError("invalid_request", "assertion-type-unknown", {
        description: `client_assertion_type must be ${assertionType}.`,
      });
    }
    return { method: "private_key_jwt", clientId: formClientId, assertion };
  }
  if (form.get("client_assertion_type") !== undefined) {
    throw new OAuthError("invalid_request", "assertion-missing");
  }
  if (formClientId === undefined) throw invalidClient("client-authentication-missing", false);
  if (secret !== undefined) return { method: "client_secret_post", clientId: formClientId, secret };
  return { method: "none", clientId: formClientId };
}

/**
 * **Requires an active client that used its registered authentication method**; otherwise throws `invalid_client`. A client with a secret may send it
 * in the header or in the body, whichever of the two it registered: libraries choose by themselves (ADR 47).
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 */
export function requireRegistered(client: Client | undefined, method: ClientAuthMethod, usedHeader: boolean): Client {
  if (client === undefined) throw invalidClient("client-unknown", usedHeader);
  if (client.status !== "active") throw invalidClient("client-disabled", usedHeader);
  const registered = client.metadata.token_endpoint_auth_method;
  if (registered === method || (usesSecret(registered) && usesSecret(method))) return client;
  throw methodDiffers(client, method, usedHeader);
}

/** The response names the registered method only of a public client, which everyone may be; the log names it always. */
export function methodDiffers(client: Client, method: ClientAuthMethod, usedHeader: boolean) {
  const registered = client.metadata.token_endpoint_auth_method;
  return invalidClient("client-method-differs", usedHeader, {
    detail: `${method} used, ${registered} registered`,
    description: isPublicClient(client) ? `The client is registered for ${registered}, not for ${method}.` : undefined,
  });
}
