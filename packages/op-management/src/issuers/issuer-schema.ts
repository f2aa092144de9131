import { issuerAlgorithms } from "@edge-op/protocol/jwt/signing-algorithms";
import { jwksSchema } from "@edge-op/shared/clients/jwks-schema";
import { plainText } from "@edge-op/shared/http/plain-text";
import { globFault } from "@edge-op/shared/issuers/glob";
import { tokenUses } from "@edge-op/shared/issuers/trusted-issuer";
import * as z from "zod";
import { mergePatchOf } from "../admin/merge-patch.ts";
import { nextCursor, pageQuery } from "../admin/paging.ts";

/** **Requests and responses of `/admin/issuers`.** Rules between members are in `issuer-faults.ts`. */
const status = z.enum(["active", "disabled"]);
const id = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "must be 1 to 64 letters, digits, dots, hyphens or underscores");
const clientId = z.string().min(1).max(255);
const uri = z
  .string()
  .min(1)
  .max(2048)
  .regex(/^[\x21-\x7e]+$/, "must be a URI");
const scopeValue = z
  .string()
  .max(256)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "must be a scope value (RFC 6749, section 3.3)");

/** `"*"` means any, and must be the only value. */
function policyList<T extends z.ZodType<string>>(value: T) {
  return z
    .array(value)
    .max(100)
    .refine((list) => list.length === 1 || !list.includes("*" as z.output<T>), '"*" must stand alone');
}

const text = z.string().min(1).max(1024);
const value = z.union([text, z.number(), z.boolean()], { error: "must be a string, a number, true or false" });
/** Without it, `repo:acme` would match `repo:acme-evil/app` too. */
const prefix = text.regex(/[/:]$/, "must end with / or :, so that it ends where a name ends");
const glob = text
  .max(512)
  .refine((pattern) => globFault(pattern) === undefined, "must not contain three stars in a row");

const claimRuleMembers = { exact: value, one_of: z.array(value).min(1).max(100), prefix, glob, contains: text };
const claimRule = z
  .strictObject(claimRuleMembers)
  .partial()
  .refine((rule) => Object.keys(rule).length === 1, "must have exactly one of exact, one_of, prefix, glob and contains")
  .meta({ id: "ClaimRule" });

const claimName = z
  .string()
  .min(1)
  .max(256)
  .refine((name) => !name.startsWith("/") || !/~(?![01])/.test(name), "must be a name or a JSON pointer");

/** A client, a user, or the user whom a claim names: the members decide which. */
const subject = z
  .strictObject({
    type: z.enum(["client", "user"]),
    sub: plainText(255).optional(),
    claim: claimName.optional(),
    by: z.enum(["sub", "username"]).optional(),
  })
  .meta({ id: "RuleSubject" });

const rule = z
  .strictObject({
    rule_id: id,
    status: status.default("active"),
    description: plainText(200).optional(),
    uses: z.array(z.enum(tokenUses)).min(1).max(tokenUses.length).describe("What its tokens may be presented as."),
    claims: z
      .record(claimName, claimRule)
      .describe("Every one must match; a name that begins with / is a JSON pointer."),
    clients: policyList(clientId)
      .optional()
      .describe("Clients that may present the token, authenticated by themselves."),
    client_id: clientId.optional().describe("The service client: a request without client authentication acts as it."),
    subject: subject.optional().describe("Whom the token stands for here; required but for software statements."),
    audiences: policyList(uri).default([]),
    resources: policyList(uri).default([]),
    scopes: policyList(scopeValue).default([]),
    access_token_lifetime: z.int().min(1).max(86_400).optional().describe("Seconds, at most."),
  })
  .meta({ id: "IssuerRule" });

const members = {
  name: plainText(200).optional(),
  status: status.default("active"),
  jwks: jwksSchema.optional(),
  jwks_uri: uri.optional(),
  discovery_uri: uri
    .optional()
    .describe("Metadata that names its jwks_uri; by default below an https issuer, if no keys are given."),
  algorithms: z.array(z.enum(issuerAlgorithms)).min(1).max(issuerAlgorithms.length).default(["RS256", "ES256"]),
  audiences: z
    .array(uri)
    .min(1)
    .max(16)
    .optional()
    .describe("What `aud` may be; absent: the issuer identifier of this provider."),
  max_token_lifetime: z.int().min(60).max(86_400).default(3600).describe("`exp − iat` at most, seconds."),
  reusable_assertions: z
    .boolean()
    .default(false)
    .describe("Accept an assertion until it expires; otherwise its `jti` once."),
  rules: z.array(rule).max(50).default([]),
};

const issuerName = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[\x21-\x7e]+$/, "must be printable ASCII");

/** A whole record as it is stored, defaults filled in; `status` has a column of its own. */
export const issuerDocumentSchema = z.strictObject(members);

export const issuerCreateSchema = z
  .strictObject({
    ...members,
    issuer: issuerName,
    issuer_id: id.optional().describe("Chosen by the server unless given."),
  })
  .meta({ id: "IssuerCreate" });

/** `issuer` cannot be changed: another issuer is another record. A status cannot be removed. */
export const issuerPatchSchema = mergePatchOf(z.strictObject(members))
  .extend({ status: status.optional() })
  .meta({ id: "IssuerPatch" });

export const issuerSchema = z
  .strictObject({
    issuer_id: z.string(),
    issuer: z.string(),
    created_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
    ...members,
  })
  .meta({ id: "Issuer" });

export const issuerListSchema = z
  .strictObject({ issuers: z.array(issuerSchema), next_cursor: nextCursor })
  .meta({ id: "IssuerList" });

export const issuerListQuery = pageQuery;

export const issuerTestSchema = z
  .strictObject({
    token: z
      .string()
      .min(1)
      .max(16_384)
      .optional()
      .describe("A whole token: its signature is verified as well. Nothing is spent."),
    claims: z.record(z.string(), z.unknown()).optional().describe("The claims of a token that does not exist yet."),
    typ: z.string().max(64).optional().describe("With claims: the `typ` of the header."),
    alg: z.string().max(16).optional().describe("With claims: the `alg` of the header; by default the issuer's first."),
    use: z.enum(tokenUses).default("assertion"),
    client_id: clientId.optional().describe("The authenticated client that presents it; absent: none."),
    audience: z.array(uri).max(16).default([]),
    resource: z.array(uri).max(16).default([]),
  })
  .refine(
    ({ token, claims }) => (token === undefined) !== (claims === undefined),
    "must have exactly one of token and claims",
  )
  .meta({ id: "IssuerTest" });

export const issuerTestResultSchema = z
  .strictObject({
    accepted: z.boolean(),
    faults: z.array(z.string()).describe("What is wrong with the token itself, whichever rule."),
    signature: z.enum(["valid", "invalid", "not checked"]),
    rule_id: z.string().optional().describe("The rule that matches."),
    rules: z.array(z.strictObject({ rule_id: z.string(), matches: z.boolean(), reasons: z.array(z.string()) })),
    outcome: z
      .strictObject({
        client_id: z.string().optional().describe("The client that would get a token."),
        sub: z.string().optional(),
        user: z.boolean().optional(),
        scopes: z.array(z.string()),
        faults: z.array(z.string()).describe("Why it would be refused all the same."),
      })
      .optional(),
  })
  .meta({ id: "IssuerTestResult" });
