import type { RequestContext } from "@edge-op/shared/http/request-context";
import { decodeJwt } from "@edge-op/shared/jwt/decode-claims";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import { toSeconds } from "@edge-op/shared/runtime/clock";
import { isJsonObject } from "@edge-op/shared/validation/json-object";
import type { ManagementIsolate } from "../isolate.ts";
import type { ManagementEnv } from "../management-env.ts";

/** The claims of the JWT itself, which are no metadata. */
const ownClaims = ["iss", "aud", "exp", "nbf", "iat", "jti", "sub"];

/**
 * **A software statement**: metadata that a trusted issuer (`SOFTWARE_STATEMENT_ISSUERS`) has signed. Its claims replace the members beside it. Issuers' keys are fetched by the guarded
 * fetcher. Cost: 1 verification.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2.3
 */
export interface StatedMetadata {
  readonly metadata: unknown;
  /** A trusted issuer has signed a statement. */
  readonly isVouchedFor: boolean;
}

export async function readStatement(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  body: unknown,
): Promise<StatedMetadata> {
  const statement = isJsonObject(body) ? body["software_statement"] : undefined;
  if (!isJsonObject(body) || statement === undefined) return { metadata: body, isVouchedFor: false };
  const claims = typeof statement === "string" ? await verify(context, isolate, statement) : undefined;
  if (claims === undefined) throw new OAuthError("invalid_software_statement", "software-statement-invalid");
  const stated = Object.fromEntries(Object.entries(claims).filter(([name]) => !ownClaims.includes(name)));
  return { metadata: { ...body, ...stated }, isVouchedFor: true };
}

async function verify(context: RequestContext<ManagementEnv>, isolate: ManagementIsolate, statement: string) {
  const decoded = decodeJwt(statement);
  const issuer = context.settings.softwareStatementIssuers.find((each) => each.issuer === decoded?.claims["iss"]);
  if (decoded === undefined || issuer === undefined) {
    throw new OAuthError("unapproved_software_statement", "software-statement-issuer");
  }
  const { alg, kid } = decoded.header;
  const source = { jwks_uri: issuer.jwksUri };
  if (!(await isolate.clientKeys.isSignedBySource(context, source, statement, alg, kid))) return undefined;
  const { exp } = decoded.claims;
  const isLive = exp === undefined || (typeof exp === "number" && exp > toSeconds(context.arrivedAtMs));
  return isLive ? decoded.claims : undefined;
}
