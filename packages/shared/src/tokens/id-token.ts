/**
 * **The ID token format**, written and read only here; it contains registered claims and those about the user. The `jti` contains the grant, so that
 * an ID token can be exchanged and is revoked with its grant. Cost: write 1 signature; read 1 verification.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#IDToken
 */

import { encodeBase64Url, encodeUtf8, randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import type { JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import { type SigningAlgorithm, signingAlgorithmTable } from "@edge-op/protocol/jwt/signing-algorithms";
import {
  type AuthenticationEvent,
  authenticationClaims,
  readAuthenticationClaims,
} from "@edge-op/protocol/oauth/login-context";
import type { Client } from "../clients/client.ts";
import { signatureFor } from "../clients/security-profile.ts";
import type { GrantIdentity } from "../grants/grant.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { KeyBindings, KeyRing } from "../keys/key-ring.ts";
import { formatTokenId, parseTokenId } from "../storage/shard-address.ts";
import type { TokenSigner } from "./access-token.ts";
import type { AccessToken } from "./verified-tokens.ts";

export interface IdTokenContent extends AuthenticationEvent {
  readonly grant: Pick<GrantIdentity, "grantId" | "address">;
  readonly client: Client;
  /** The subject that the client knows: pairwise if the client registered that. */
  readonly sub: string;
  readonly nonce: string | undefined;
  /** The organisation for which the person acts (ADR 72). */
  readonly orgId?: string | undefined;
  /** The session id of this client's sector (clients/pairwise-subject.ts). */
  readonly sid: string | undefined;
  /** Issued together with the ID token, which contains its `at_hash` and `c_hash`. */
  readonly accessToken: string;
  readonly code: string | undefined;
  /** Claims requested individually (OIDC Core §5.5). */
  readonly userClaims: Readonly<Record<string, unknown>>;
  readonly notAfterSeconds?: number | undefined;
}

const typ = "JWT";

export async function signIdToken(
  context: RequestContext<KeyBindings>,
  isolate: TokenSigner,
  content: IdTokenContent,
): Promise<string> {
  const { client, grant, code } = content;
  const { settings } = context;
  const { id_token_signed_response_alg: registered } = client.metadata;
  const alg = signatureFor(settings, client, registered, settings.idTokenAlgorithm);
  const issuedAtSeconds = toSeconds(context.arrivedAtMs);
  const { grantId, address } = grant;
  const [accessTokenHash, codeHash] = await Promise.all([
    halfHash(alg, content.accessToken),
    code === undefined ? undefined : halfHash(alg, code),
  ]);
  const claims = {
    ...content.userClaims,
    iss: settings.issuer,
    sub: content.sub,
    aud: client.clientId,
    azp: client.clientId,
    org_id: content.orgId,
    iat: issuedAtSeconds,
    exp: Math.min(
      issuedAtSeconds + settings.idTokenLifetimeSeconds,
      content.notAfterSeconds ?? Number.POSITIVE_INFINITY,
    ),
    ...authenticationClaims(content),
    nonce: content.nonce,
    sid: content.sid,
    at_hash: accessTokenHash,
    c_hash: codeHash,
    jti: formatTokenId({ address, grantId, random: randomBase64Url(12) }),
  };
  return isolate.keyRing.sign(context, { alg, typ, claims });
}

/** The left half of the hash that the signature uses (OIDC Core §3.1.3.6). */
async function halfHash(alg: SigningAlgorithm, text: string): Promise<string> {
  const digest = await crypto.subtle.digest(signingAlgorithmTable[alg].hash, encodeUtf8(text));
  return encodeBase64Url(new Uint8Array(digest, 0, digest.byteLength / 2));
}

/** A verified ID token: the members that it shares with an access token, and `sid`. `sub` is the subject that its client knows. */
export type IdToken = Omit<
  AccessToken,
  | "scope"
  | "resources"
  | "rbac"
  | "username"
  | "pairwiseSub"
  | "userinfoClaims"
  | "authorizationDetails"
  | "mappedClaims"
> & { readonly sid: string | undefined };

/**
 * Verifies an ID token of this provider: signature, type, issuer, form, and time unless `acceptExpired` (an `id_token_hint` may be
 * expired, OIDC Core §3.1.2.1). Neither revocation nor the audience is checked.
 */
export async function readIdToken(
  context: RequestContext<KeyBindings>,
  isolate: { readonly keyRing: KeyRing },
  token: string,
  options: { readonly acceptExpired?: boolean } = {},
): Promise<IdToken | undefined> {
  const verified = await isolate.keyRing.verify(context, token, { typ: [typ] });
  if (verified === undefined || verified.claims.iss !== context.settings.issuer) return undefined;
  const idToken = fromClaims(verified.claims);
  if (idToken === undefined) return undefined;
  const expired = toSeconds(context.arrivedAtMs) >= idToken.expiresAtSeconds;
  return expired && options.acceptExpired !== true ? undefined : idToken;
}

/** Other JWTs of this provider have no `azp`, so none of them can be mistaken for an ID token, whatever its `typ`; access tokens have `client_id`. */
function fromClaims(claims: JwtClaims): IdToken | undefined {
  const { sub, aud, azp, iat, exp, jti, client_id: clientId } = claims;
  const id = typeof jti === "string" ? parseTokenId(jti) : undefined;
  if (id === undefined || typeof sub !== "string" || typeof azp !== "string" || aud !== azp) return undefined;
  if (clientId !== undefined) return undefined;
  if (typeof iat !== "number" || typeof exp !== "number") return undefined;
  const { sid, org_id: orgId } = claims;
  return {
    id,
    sub,
    clientId: azp,
    orgId: typeof orgId === "string" ? orgId : undefined,
    grantClientId: azp,
    viaClientIds: [],
    lineage: [],
    audiences: [azp],
    issuedAtSeconds: iat,
    expiresAtSeconds: exp,
    act: undefined,
    mayAct: undefined,
    cnf: undefined,
    forUser: true,
    sid: typeof sid === "string" ? sid : undefined,
    ...readAuthenticationClaims(claims),
  };
}
