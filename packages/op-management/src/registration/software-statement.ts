import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { describeClockFault, isTime } from "@edge-op/protocol/encoding/seconds";
import { type DecodedJwt, decodeJwt, type JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { keysNotFetched } from "@edge-op/shared/clients/client-keys";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { clockFaultOf, findTokenFaults } from "@edge-op/shared/issuers/check-token";
import { matchRules } from "@edge-op/shared/issuers/match-rule";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";

/** The claims of the JWT itself, which are not metadata. */
const ownClaims = ["iss", "aud", "exp", "nbf", "iat", "jti", "sub"];
const use = "software_statement";

export interface StatedMetadata {
  readonly metadata: unknown;
  /** Whether a trusted issuer has signed a statement. */
  readonly isVouchedFor: boolean;
}

/**
 * **A software statement**: metadata signed by a trusted issuer, which is trusted by a rule of its record with the use `software_statement` (ADR 51)
 * or, without a record, by the setting `SOFTWARE_STATEMENT_ISSUERS`. Its claims replace the members of the request. Issuers' keys are fetched by the
 * guarded fetcher. Cost warm: 1 verification.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2.3
 */
export async function readStatement(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  body: unknown,
): Promise<StatedMetadata> {
  const statement = isJsonObject(body) ? body["software_statement"] : undefined;
  if (!isJsonObject(body) || statement === undefined) return { metadata: body, isVouchedFor: false };
  const decoded = typeof statement === "string" ? decodeJwt(statement) : undefined;
  if (typeof statement !== "string" || decoded === undefined) throw invalidStatement("not a signed JWT");
  const claims = await verify(context, isolate, statement, decoded);
  const stated = Object.fromEntries(Object.entries(claims).filter(([name]) => !ownClaims.includes(name)));
  return { metadata: { ...body, ...stated }, isVouchedFor: true };
}

async function verify(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  statement: string,
  decoded: DecodedJwt,
): Promise<JwtClaims> {
  const { claims } = decoded;
  const { iss } = claims;
  const issuer = typeof iss === "string" ? await isolate.issuers.find(context, iss) : undefined;
  if (issuer === undefined) return verifyBySetting(context, isolate, statement, decoded);
  const ownIssuer = context.settings.issuer;
  // Rules are checked first: an issuer that is trusted for other uses has not approved this client.
  const match = matchRules(
    issuer.document.rules,
    claims,
    { use, clientId: undefined, audiences: [], resources: [] },
    ownIssuer,
  );
  if (issuer.status !== "active" || match.kind !== "rule") {
    throw unapproved(`${issuer.issuerId}: ${match.kind === "rule" ? "the issuer is disabled" : match.reason}`);
  }
  const faults = findTokenFaults(issuer, decoded, { use, ownIssuer, atMs: context.arrivedAtMs });
  const clock = clockFaultOf(claims, context.arrivedAtMs);
  if (faults.length > 0) throw invalidStatement(`${issuer.issuerId}: ${faults.join(", ")}`, clock);
  if (!(await isolate.issuerKeys.isSigned(context, issuer, statement, decoded))) {
    const failure = await isolate.issuerKeys.failure(context, issuer);
    if (failure !== undefined) throw unverifiable(`${issuer.issuerId}: ${failure}`);
    throw invalidStatement(`${issuer.issuerId}: not signed by a key of the issuer`);
  }
  return claims;
}

async function verifyBySetting(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  statement: string,
  { header: { alg, kid }, claims }: DecodedJwt,
): Promise<JwtClaims> {
  const issuer = context.settings.softwareStatementIssuers.find((each) => each.issuer === claims["iss"]);
  if (issuer === undefined) throw unapproved("iss is not a trusted issuer");
  const source = { jwks_uri: issuer.jwksUri };
  const isSigned = await isolate.clientKeys.isSignedBySource(context, source, statement, alg, kid);
  const failure = isSigned ? undefined : isolate.clientKeys.failure(context, source);
  if (failure !== undefined) throw unverifiable(failure);
  if (!isSigned) throw invalidStatement("not signed by its issuer");
  const clock = clockFaultOf(claims, context.arrivedAtMs);
  if (clock !== undefined) throw invalidStatement(clock, clock);
  if (claims["exp"] !== undefined && !isTime(claims["exp"])) throw invalidStatement("exp is malformed");
  return claims;
}

function invalidStatement(detail: string, clock?: string): OAuthError {
  const description = describeClockFault("software statement", clock);
  return new OAuthError("invalid_software_statement", "software-statement-invalid", { detail, description });
}

function unverifiable(failure: string): OAuthError {
  const { reason, ...told } = keysNotFetched(failure);
  return new OAuthError("invalid_software_statement", reason, told);
}

function unapproved(detail: string): OAuthError {
  return new OAuthError("unapproved_software_statement", "software-statement-issuer", { detail });
}
