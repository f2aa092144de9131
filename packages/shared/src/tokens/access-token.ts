/**
 * **The access token format**: a signed JWT, written and read only here. Private claims, read by this provider only: `grant_client` (client of the
 * grant, if another than the token's), `via` (clients that exchanged it in between), `lineage` (ids of the tokens it was exchanged from),
 * `sealed_sub` (the user, where `sub` is pairwise). Where the resource's rules choose the `typ` `JWT`, `client_id` and the absence of `azp` tell it
 * from an ID token. Cost: write 1 signature; read 1 verification, 0 if verified before.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9068#section-2
 */

import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { decodeClaims, longestToken } from "@edge-op/protocol/jwt/decode-claims";
import type { SigningAlgorithm } from "@edge-op/protocol/jwt/signing-algorithms";
import type { AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import { formatConfirmation, readConfirmation } from "@edge-op/protocol/oauth/confirmation";
import { authenticationClaims, readAuthenticationClaims } from "@edge-op/protocol/oauth/login-context";
import { type AccessTokenType, accessTokenTypes } from "@edge-op/protocol/oauth/registered-names";
import { unreservedClaims } from "@edge-op/protocol/oauth/reserved-claims";
import { formatScope } from "@edge-op/protocol/oauth/scope";
import type { RequestContext } from "../http/request-context.ts";
import type { KeyBindings, KeyRing } from "../keys/key-ring.ts";
import type { RevocationSubject } from "../leases/revocation-subject.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { openSealed, sealText } from "../secrets/seal.ts";
import { everyId } from "../storage/record-kinds.ts";
import { formatTokenId, parseTokenId } from "../storage/shard-address.ts";
import { type MappedValue, mappedClaims } from "../users/attributes.ts";
import type { AccessToken, ActorClaim, VerifiedTokens } from "./verified-tokens.ts";

/** The content of a new access token. `attributes`: of them, it contains those that its client, scope and audiences allow. */
export type AccessTokenContent = Pick<
  AccessToken,
  "id" | "sub" | "clientId" | "audiences" | "scope" | "issuedAtSeconds" | "expiresAtSeconds" | "forUser"
> &
  Partial<Omit<AccessToken, "mappedClaims">> & { readonly attributes?: readonly MappedValue[] | undefined };

export interface TokenSigner {
  readonly keyRing: KeyRing;
}

/** The form of a token, by the rules of its resources. */
export interface TokenFormat {
  readonly alg: SigningAlgorithm;
  readonly typ: AccessTokenType;
}

/** Signs an access token. Equal content produces equal claims. */
export async function signAccessToken(
  context: RequestContext<KeyBindings>,
  isolate: TokenSigner,
  { alg, typ }: TokenFormat,
  content: AccessTokenContent,
): Promise<string> {
  const own = toClaims(context.settings.issuer, content);
  const mapped = content.attributes?.length ? mappedClaims(content.attributes, "access_token", content) : undefined;
  const claims = mapped === undefined ? own : { ...mapped, ...own };
  if (content.pairwiseSub === undefined) return isolate.keyRing.sign(context, { alg, typ, claims });
  const sealedSub = await sealText(context.env, "subject-seal", content.sub);
  return isolate.keyRing.sign(context, {
    alg,
    typ,
    claims: { ...claims, sub: content.pairwiseSub, sealed_sub: sealedSub },
  });
}

function toClaims(issuer: string, content: AccessTokenContent): Record<string, unknown> {
  const { audiences } = content;
  const { username, rbac } = coveredByScope(content);
  // There is no `nbf`: it would say no more than `iat`, and a library without a tolerance would refuse a fresh token if its clock is behind.
  // The members are listed without a spread, so that their order and number are the same in every token, which makes the object and its JSON cheap.
  const { auth_time, acr, amr } = authenticationClaims(content);
  return {
    iss: issuer,
    sub: content.sub,
    aud: audiences.length === 1 ? audiences[0] : audiences,
    client_id: content.clientId,
    org_id: content.orgId,
    scope: content.scope.length === 0 ? undefined : formatScope(content.scope),
    iat: content.issuedAtSeconds,
    exp: content.expiresAtSeconds,
    jti: formatTokenId(content.id),
    grant_client: content.grantClientId === content.clientId ? undefined : content.grantClientId,
    via: content.viaClientIds?.length ? content.viaClientIds : undefined,
    lineage: content.lineage?.length ? content.lineage : undefined,
    resource: content.resources?.length ? content.resources : undefined,
    act: content.act,
    may_act: content.mayAct,
    cnf: formatConfirmation(content.cnf),
    roles: rbac?.roles.length ? rbac.roles : undefined,
    groups: rbac?.groups.length ? rbac.groups : undefined,
    permissions: rbac?.permissions.length ? rbac.permissions : undefined,
    user: content.forUser ? true : undefined,
    username,
    auth_time,
    acr,
    amr,
    authorization_details: content.authorizationDetails?.length ? content.authorizationDetails : undefined,
    claims_userinfo: content.userinfoClaims?.length ? content.userinfoClaims : undefined,
  };
}

/**
 * **Limits the user claims of an access token to its scope**: `username` by `profile`, but never with a pairwise subject, whose user it would reveal;
 * roles, groups and permissions each by the scope value of that name (ADR 18).
 */
function coveredByScope({
  scope,
  pairwiseSub,
  rbac,
  username,
}: Pick<AccessTokenContent, "scope" | "pairwiseSub" | "rbac" | "username">): Pick<AccessToken, "username" | "rbac"> {
  return {
    username: scope.includes("profile") && pairwiseSub === undefined ? username : undefined,
    rbac: rbac && {
      roles: scope.includes("roles") ? rbac.roles : [],
      groups: scope.includes("groups") ? rbac.groups : [],
      permissions: scope.includes("permissions") ? rbac.permissions : [],
    },
  };
}

export interface TokenReader {
  readonly keyRing: KeyRing;
  readonly verifiedTokens: VerifiedTokens;
}

/**
 * Verifies a token and reads it: signature, type, issuer, times as of the request's arrival, and the form of every claim. Returns `undefined` for
 * anything other than an unexpired access token of this provider. Revocation is not checked.
 */
export async function readAccessToken(
  context: RequestContext<KeyBindings>,
  isolate: TokenReader,
  token: string,
): Promise<AccessToken | undefined> {
  if (token.length > longestToken) return undefined;
  const seen = isolate.verifiedTokens.get(token, context.arrivedAtMs);
  if (seen !== undefined) {
    context.progress.reads?.note("keys", everyId);
    return seen;
  }
  const insertion = isolate.verifiedTokens.begin();
  const verified = await isolate.keyRing.verify(context, token, { typ: accessTokenTypes });
  if (verified === undefined || verified.claims["iss"] !== context.settings.issuer) return undefined;
  const read = await withSealedSubject(context.env, verified.claims, fromClaims(verified.claims));
  if (read === undefined || !isTimely(read, verified.claims, context.arrivedAtMs)) return undefined;
  isolate.verifiedTokens.add(insertion, token, read, verified.retireAtMs);
  return read;
}

/** The names in the text of a token of this provider, to read records ahead: nothing is verified. */
export async function peekAccessToken(
  context: RequestContext<MasterKeyBindings>,
  token: string,
): Promise<AccessToken | undefined> {
  const claims = decodeClaims(token);
  if (claims === undefined || claims["iss"] !== context.settings.issuer) return undefined;
  return withSealedSubject(context.env, claims, fromClaims(claims));
}

/** If `sub` is a pairwise subject, `sealed_sub` contains the user. */
async function withSealedSubject(
  env: MasterKeyBindings,
  claims: Readonly<Record<string, unknown>>,
  token: AccessToken | undefined,
): Promise<AccessToken | undefined> {
  const sealed = text(claims["sealed_sub"]);
  if (token === undefined || sealed === undefined) return token;
  const sub = await openSealed(env, "subject-seal", sealed);
  return sub === undefined ? undefined : { ...token, sub, pairwiseSub: token.sub };
}

function isTimely(token: AccessToken, claims: Readonly<Record<string, unknown>>, atMs: number): boolean {
  const now = toSeconds(atMs);
  // The clock of the isolate that signed the token may be ahead of this one.
  const clockOffsetSeconds = 2;
  // Tokens of the release before have `nbf`.
  const { nbf: notBefore = token.issuedAtSeconds } = claims;
  const isEarly = (seconds: unknown) => !(typeof seconds === "number" && seconds <= now + clockOffsetSeconds);
  if (isEarly(notBefore) || isEarly(token.issuedAtSeconds)) return false;
  return now < token.expiresAtSeconds;
}

function strings(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numeric(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function readDetails(value: unknown): AuthorizationDetails | undefined {
  const isDetail = (each: unknown) => isJsonObject(each) && typeof each["type"] === "string";
  return Array.isArray(value) && value.every(isDetail) ? (value as AuthorizationDetails) : undefined;
}

/** Every `act` that this provider signs has this form. */
function isActorClaim(value: unknown): value is ActorClaim {
  if (!isJsonObject(value) || typeof value["sub"] !== "string") return false;
  const { client_id: clientId, iss, act } = value;
  return (
    (clientId === undefined || typeof clientId === "string") &&
    (iss === undefined || typeof iss === "string") &&
    (act === undefined || isActorClaim(act))
  );
}

/** The signature has been verified; every claim is checked anyway, so that a bug elsewhere cannot widen a token. */
function fromClaims(claims: Readonly<Record<string, unknown>>): AccessToken | undefined {
  const id = parseTokenId(text(claims["jti"]) ?? "");
  const sub = text(claims["sub"]);
  const clientId = text(claims["client_id"]);
  const issuedAtSeconds = numeric(claims["iat"]);
  const expiresAtSeconds = numeric(claims["exp"]);
  const audience = text(claims["aud"]);
  const audiences = audience === undefined ? strings(claims["aud"]) : [audience];
  const cnf = claims["cnf"];
  if (
    id === undefined ||
    sub === undefined ||
    clientId === undefined ||
    issuedAtSeconds === undefined ||
    expiresAtSeconds === undefined ||
    audiences === undefined ||
    // An ID token, which may have the same `typ`.
    claims["azp"] !== undefined ||
    // Without its binding, the token would be a bearer token.
    (cnf !== undefined && !isJsonObject(cnf))
  ) {
    return undefined;
  }
  const rbac = {
    roles: strings(claims["roles"]),
    groups: strings(claims["groups"]),
    permissions: strings(claims["permissions"]),
  };
  return {
    id,
    sub,
    clientId,
    orgId: text(claims["org_id"]),
    grantClientId: text(claims["grant_client"]) ?? clientId,
    viaClientIds: strings(claims["via"]) ?? [],
    lineage: strings(claims["lineage"]) ?? [],
    audiences,
    resources: strings(claims["resource"]) ?? [],
    scope: text(claims["scope"])?.split(" ") ?? [],
    issuedAtSeconds,
    expiresAtSeconds,
    act: isActorClaim(claims["act"]) ? claims["act"] : undefined,
    mayAct: isJsonObject(claims["may_act"]) ? claims["may_act"] : undefined,
    cnf: cnf && readConfirmation(cnf),
    rbac:
      rbac.roles || rbac.groups || rbac.permissions
        ? { roles: rbac.roles ?? [], groups: rbac.groups ?? [], permissions: rbac.permissions ?? [] }
        : undefined,
    forUser: claims["user"] === true,
    username: text(claims["username"]),
    pairwiseSub: undefined,
    ...readAuthenticationClaims(claims),
    authorizationDetails: readDetails(claims["authorization_details"]),
    userinfoClaims: strings(claims["claims_userinfo"]),
    mappedClaims: unreservedClaims(claims),
  };
}

/**
 * **The revocation subjects of a token**, one for each client that takes part in it: the client of the grant, the client that
 * holds the token, those that exchanged it, and those that act. Cutting off any of them revokes the token.
 */
export function revocationSubjects(
  token: Pick<AccessToken, "id" | "sub" | "clientId" | "orgId" | "grantClientId" | "viaClientIds" | "lineage" | "act">,
): RevocationSubject[] {
  const subject: RevocationSubject = {
    address: token.id.address,
    jti: formatTokenId(token.id),
    grantId: token.id.grantId,
    sub: token.sub,
    clientId: token.clientId,
    orgId: token.orgId,
    lineage: token.lineage.map((random) => formatTokenId({ ...token.id, random })),
  };
  // Most tokens take this path, which saves the allocations below.
  if (token.grantClientId === token.clientId && token.lineage.length === 0) return [subject];
  const others = new Set([token.grantClientId, ...token.viaClientIds, ...actingClients(token.act)]);
  others.delete(token.clientId);
  return [subject, ...[...others].map((clientId) => ({ ...subject, clientId }))];
}

function actingClients(act: ActorClaim | undefined): string[] {
  const clientIds: string[] = [];
  for (let actor = act; actor !== undefined; actor = actor.act) {
    if (actor.client_id !== undefined) clientIds.push(actor.client_id);
  }
  return clientIds;
}
