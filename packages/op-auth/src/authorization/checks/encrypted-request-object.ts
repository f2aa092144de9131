import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../../auth-env.ts";
import type { AuthIsolate } from "../../isolate.ts";
import { isEncrypted } from "../../memory/decryption-keys.ts";

/**
 * **The signed request object inside an encrypted one**; any other text unchanged. The registered algorithms do not limit the client: it may also use
 * other supported algorithms or send unencrypted objects (OIDC Registration §2). Every failure has the same error and text, so that trial and error
 * reveals nothing about a key. Cost: 0 without encryption; with it 1 private key operation.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9101#section-6.1
 * @see https://openid.net/specs/openid-connect-core-1_0.html#EncryptedRequestObject
 */
export async function decryptRequestObject(
  context: RequestContext<AuthEnv>,
  isolate: Pick<AuthIsolate, "decryptionKeys">,
  { metadata }: Client,
  token: string,
): Promise<string> {
  if (!isEncrypted(token)) return token;
  // Nothing is decrypted for a client without keys: its request object cannot be signed.
  const hasKeys = metadata.jwks !== undefined || metadata.jwks_uri !== undefined;
  const signed = hasKeys ? await isolate.decryptionKeys.decrypt(context, token) : undefined;
  if (signed === undefined) throw new OAuthError("invalid_request_object", "request-object-not-decrypted");
  return signed;
}
