import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { type DecodedJwt, decodeJwt, type JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import { findTokenFaults, idJagType } from "@edge-op/shared/issuers/check-token";
import { refuseRule, resolveSubject } from "@edge-op/shared/issuers/match-rule";
import type { IssuerRule, TrustedIssuer } from "@edge-op/shared/issuers/trusted-issuer";
import { nowMs } from "@edge-op/shared/runtime/clock";
import type * as z from "zod";
import { type AdminCall, defineRoute } from "../admin/define-route.ts";
import { issuers } from "./issuer-document.ts";
import { issuerTestResultSchema, issuerTestSchema } from "./issuer-schema.ts";

type TestCall = AdminCall<z.output<typeof issuerTestSchema>, undefined>;
type TestResult = z.input<typeof issuerTestResultSchema>;

/**
 * **`POST /admin/issuers/{issuer_id}/test`**: reports what the provider would do with a token, by the same functions as `/token`. Changes nothing: no
 * `jti` is spent. The record is read from D1. Cost: 1 D1, and the reads of the mapping; with a token, 1 verification and perhaps a fetch.
 */
export const testIssuerRoute = defineRoute({
  method: "POST",
  path: "/issuers/{issuer_id}/test",
  operationId: "testIssuer",
  summary: "Shows which rule a token, or the claims of one, would match, and why each other rule refuses it.",
  scope: "admin:issuers",
  body: issuerTestSchema,
  response: { status: 200, description: "The outcome for the token.", schema: issuerTestResultSchema },
  async handle(call) {
    const issuer = await issuers.require(call.context.env.DB, call.parameter("issuer_id"));
    return { body: await testIssuer(call, issuer) };
  },
});

async function testIssuer(call: TestCall, issuer: TrustedIssuer): Promise<TestResult> {
  const { token, use, client_id: clientId, audience, resource } = call.body;
  const ownIssuer = call.context.settings.issuer;
  const decoded = token === undefined ? describedToken(call.body, issuer, ownIssuer) : decodeJwt(token);
  if (decoded === undefined) {
    return { accepted: false, faults: ["not a signed JWT"], signature: "invalid", rules: [] };
  }
  const faults = findTokenFaults(issuer, decoded, { use, ownIssuer, atMs: nowMs() });
  const isSigned =
    token === undefined || (await call.isolate.issuerKeys.isSigned(call.context, issuer, token, decoded));
  const failure = isSigned ? undefined : await call.isolate.issuerKeys.failure(call.context, issuer);
  if (failure !== undefined) faults.push(`the keys could not be fetched: ${failure}`);
  const isChecked = token !== undefined && failure === undefined;
  const signature = isChecked ? (isSigned ? "valid" : "invalid") : "not checked";
  const presentation = { use, clientId, audiences: audience, resources: resource };
  const rules = issuer.document.rules.map((rule) => {
    const { reasons, target } = refuseRule(rule, decoded.claims, presentation, ownIssuer);
    const all = [...reasons, ...target];
    return { rule_id: rule.rule_id, matches: all.length === 0, reasons: all };
  });
  const matched = rules.find(({ matches }) => matches);
  const rule = issuer.document.rules.find(({ rule_id }) => rule_id === matched?.rule_id);
  const outcome =
    rule && use !== "software_statement" ? await describeOutcome(call, issuer, rule, decoded.claims) : undefined;
  const isAllowed = use === "software_statement" ? rule !== undefined : outcome?.faults.length === 0;
  return {
    accepted: faults.length === 0 && signature !== "invalid" && isAllowed,
    faults,
    signature,
    ...(rule === undefined ? {} : { rule_id: rule.rule_id }),
    rules,
    ...(outcome === undefined ? {} : { outcome }),
  };
}

/** Claims that a test omits have the values of a valid token. */
function describedToken(
  { claims = {}, typ, alg, use }: TestCall["body"],
  issuer: TrustedIssuer,
  ownIssuer: string,
): DecodedJwt {
  const now = toSeconds(nowMs());
  const iss = issuer.issuer.startsWith("spiffe:") ? undefined : issuer.issuer;
  const usual = { iss, aud: issuer.document.audiences?.[0] ?? ownIssuer, iat: now, exp: now + 60, jti: "test" };
  const header = {
    alg: alg ?? issuer.document.algorithms[0] ?? "",
    kid: undefined,
    typ: typ ?? (use === "id_jag" ? idJagType : undefined),
  };
  return { header, claims: { ...usual, ...claims } };
}

async function describeOutcome(
  { context, isolate, body }: TestCall,
  issuer: TrustedIssuer,
  rule: IssuerRule,
  claims: JwtClaims,
): Promise<NonNullable<TestResult["outcome"]>> {
  const clientId = body.client_id ?? rule.client_id;
  const [client, subject] = await Promise.all([
    clientId === undefined ? undefined : isolate.clients.find(context, clientId),
    resolveSubject(context, isolate, issuer, rule, claims),
  ]);
  const faults = [
    ...(subject.kind === "refused" ? [subject.reason] : []),
    ...(client?.status === "active" ? [] : ["the client is unknown or disabled"]),
  ];
  return {
    ...(clientId === undefined ? {} : { client_id: clientId }),
    ...(subject.kind === "subject" ? { sub: subject.sub, user: subject.forUser } : {}),
    scopes: [...rule.scopes],
    faults,
  };
}
