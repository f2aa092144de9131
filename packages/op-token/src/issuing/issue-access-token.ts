import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { presentationType, type TokenType } from "@edge-op/protocol/oauth/registered-names";
import { formatScope } from "@edge-op/protocol/oauth/scope";
import type { GrantIdentity } from "@edge-op/shared/grants/grant";
import { type FamilyAccessToken, replayMarginMs } from "@edge-op/shared/refresh/refresh-family-rpc";
import type { Resource } from "@edge-op/shared/resources/resource";
import { formatTokenId, parseTokenId } from "@edge-op/shared/storage/shard-address";
import { type AccessTokenContent, signAccessToken } from "@edge-op/shared/tokens/access-token";
import type { ClientRequest, CommittedRequest, TokenResponse } from "../grant-module.ts";
import { lifetimeSeconds, tokenFormat } from "./resource-rules.ts";

/** The id and lifetime of an access token that is not signed yet. */
export type PlannedAccessToken = Pick<AccessTokenContent, "id" | "issuedAtSeconds" | "expiresAtSeconds">;

/** The lifetime of a planned token: {@link lifetimeSeconds} of its resources, but not after `notAfterSeconds`. */
export interface PlannedLifetime {
  readonly lifetimeSeconds: number;
  readonly notAfterSeconds?: number | undefined;
}

/**
 * Plans an access token of the client: a new `jti` on the grant's shard, and its lifetime. An exchanged token expires no later than its subject
 * token; a code's token no later than the expiry fixed at /authorize.
 */
export function planAccessToken(
  { context }: ClientRequest,
  { address, grantId }: Pick<GrantIdentity, "grantId" | "address">,
  { lifetimeSeconds: seconds, notAfterSeconds = Number.POSITIVE_INFINITY }: PlannedLifetime,
): PlannedAccessToken {
  const issuedAtSeconds = toSeconds(context.arrivedAtMs);
  return {
    id: { address, grantId, random: randomBase64Url(12) },
    issuedAtSeconds,
    expiresAtSeconds: Math.min(issuedAtSeconds + seconds, notAfterSeconds),
  };
}

/** Replaces the lifetime of a login's token, which was planned for the longest lifetime of its resources, with that of its actual resources. */
export function withLifetime(
  request: ClientRequest,
  planned: PlannedAccessToken,
  resources: readonly Resource[],
): PlannedAccessToken {
  const endsAtSeconds = planned.issuedAtSeconds + lifetimeSeconds(request, resources);
  return { ...planned, expiresAtSeconds: Math.min(endsAtSeconds, planned.expiresAtSeconds) };
}

/** The form in which a refresh family stores the plan, so that a retry gets the same access token. */
export function toFamilyAccessToken(planned: PlannedAccessToken): FamilyAccessToken {
  return {
    jti: formatTokenId(planned.id),
    iatSeconds: planned.issuedAtSeconds,
    expSeconds: planned.expiresAtSeconds,
  };
}

/** When the tokens of a response expire: the access token, and an ID token that is issued with it or with a replay. */
export function tokensEndAtMs({ context }: ClientRequest, accessToken: FamilyAccessToken): number {
  const idTokenEndsAtSeconds = toSeconds(context.arrivedAtMs) + context.settings.idTokenLifetimeSeconds;
  return Math.max(accessToken.expSeconds * 1000, idTokenEndsAtSeconds * 1000 + replayMarginMs);
}

export function fromFamilyAccessToken(stored: FamilyAccessToken): PlannedAccessToken {
  const id = parseTokenId(stored.jti);
  if (id === undefined) throw new Error(`not a token id: ${stored.jti}`);
  return {
    id,
    issuedAtSeconds: stored.iatSeconds,
    expiresAtSeconds: stored.expSeconds,
  };
}

/**
 * **Issues an access token**; the last step of every grant. Its signature and type are set by its resources, the client or the deployment. Binds
 * the token to the key that this request has proven, never to that of another token. `issuedTokenType` is the response member of a token exchange
 * (RFC 8693 §2.2.1); both of its values mean an access token. Cost: 1 signature.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.1
 */
export async function issueAccessToken(
  request: CommittedRequest,
  content: Omit<AccessTokenContent, "clientId" | "cnf">,
  resources: readonly Resource[],
  issuedTokenType?: TokenType,
): Promise<TokenResponse> {
  const { context, isolate, client, proof } = request;
  const format = tokenFormat(request, content.audiences, resources);
  const { clientId } = client;
  const cnf = proof?.cnf;
  return {
    access_token: await signAccessToken(context, isolate, format, { ...content, clientId, cnf }),
    token_type: presentationType(cnf),
    // A replayed refresh repeats a token whose lifetime began earlier.
    expires_in: Math.max(0, content.expiresAtSeconds - toSeconds(context.arrivedAtMs)),
    ...(content.scope.length === 0 ? {} : { scope: formatScope(content.scope) }),
    ...(content.authorizationDetails === undefined ? {} : { authorization_details: content.authorizationDetails }),
    ...(issuedTokenType === undefined ? {} : { issued_token_type: issuedTokenType }),
  };
}
