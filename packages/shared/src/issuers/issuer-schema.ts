import { issuerAlgorithms } from "@edge-op/protocol/jwt/signing-algorithms";
import * as z from "zod";
import { jwksSchema } from "../clients/jwks-schema.ts";
import { has, hasItems, hasNone, isAmong, plainText, policyList, scopeValue, when } from "../http/plain-text.ts";
import { globFault } from "./glob.ts";

/** The uses for which a token may be presented. */
export const tokenUses = ["assertion", "subject_token", "actor_token", "id_jag", "software_statement"] as const;

const status = z.enum(["active", "disabled"]);
export const idText = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "must be 1 to 64 letters, digits, dots, hyphens or underscores");
export const clientIdText = z.string().min(1).max(255);
export const uriText = z
  .string()
  .min(1)
  .max(2048)
  .regex(/^[\x21-\x7e]+$/, "must be a URI");
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
  .exactPartial()
  .refine((rule) => Object.keys(rule).length === 1, "must have exactly one of exact, one_of, prefix, glob and contains")
  .meta({ id: "ClaimRule", minProperties: 1, maxProperties: 1 });

const claimName = z
  .string()
  .min(1)
  .max(256)
  .refine((name) => !name.startsWith("/") || !/~(?![01])/.test(name), "must be a name or a JSON pointer");

/** A client, a workload of a client, a user, or the user whom a claim names: the members decide which. */
const subject = z
  .strictObject({
    type: z.enum(["client", "workload", "user"]),
    sub: plainText(255).exactOptional(),
    claim: claimName.exactOptional(),
    by: z.enum(["sub", "username"]).exactOptional(),
  })
  .meta({ id: "RuleSubject" });

/** A rule that lets clients register has conditions alone; every other one says who presents a token, for what, and as whom. */
const whenForStatements = when(
  { properties: { uses: { contains: { const: "software_statement" } } } },
  [
    { properties: { uses: { maxItems: 1 }, claims: { minProperties: 1 } } },
    { properties: { subject: isAmong("type", ["client"]) } },
    hasNone("client_id", "access_token_lifetime"),
    {
      properties: Object.fromEntries(
        ["clients", "audiences", "resources", "scopes"].map((name) => [name, { maxItems: 0 }]),
      ),
    },
  ],
  {
    allOf: [
      has("subject"),
      { anyOf: [has("clients"), has("client_id")] },
      { anyOf: [hasItems("audiences"), hasItems("resources")] },
      when({ properties: { subject: isAmong("type", ["client", "workload"]) } }, [has("client_id")]),
    ],
  },
);

const rule = z
  .strictObject({
    rule_id: idText,
    status: status.default("active"),
    description: plainText(200).exactOptional(),
    uses: z
      .array(z.enum(tokenUses))
      .min(1)
      .max(tokenUses.length)
      .describe("The uses for which its tokens may be presented."),
    claims: z
      .record(claimName, claimRule)
      .describe("All of them must match; a name that begins with / is a JSON pointer."),
    clients: policyList(clientIdText)
      .exactOptional()
      .describe("Clients that may present the token, authenticated by themselves."),
    client_id: clientIdText
      .exactOptional()
      .describe("The service client: a request without client authentication acts as it."),
    subject: subject.exactOptional().describe("The subject at this provider; required except for software statements."),
    audiences: policyList(uriText).default([]),
    resources: policyList(uriText).default([]),
    scopes: policyList(scopeValue).default([]),
    access_token_lifetime: z.int().min(1).max(86_400).exactOptional().describe("The maximum, in seconds."),
  })
  .meta({ id: "IssuerRule", allOf: [whenForStatements] });

/**
 * **The record of a trusted issuer**, with its status: the admin API's document, as stored in D1, defaults filled in. Rules between members are in
 * op-management's `issuer-document.ts`. The `issuer` itself cannot be changed: another issuer is another record.
 */
export const issuerDocumentSchema = z.strictObject({
  name: plainText(200).exactOptional(),
  status: status.default("active"),
  /** Exactly one of these three: its public keys, where they are, or the metadata that names where they are. */
  jwks: jwksSchema.exactOptional(),
  jwks_uri: uriText.exactOptional(),
  discovery_uri: uriText
    .exactOptional()
    .describe("Metadata that names its jwks_uri; by default below an https issuer, if no keys are given."),
  algorithms: z.array(z.enum(issuerAlgorithms)).min(1).max(issuerAlgorithms.length).default(["RS256", "ES256"]),
  audiences: z
    .array(uriText)
    .min(1)
    .max(16)
    .exactOptional()
    .describe("The accepted values of `aud`; absent: the issuer identifier of this provider."),
  max_token_lifetime: z.int().min(60).max(86_400).default(3600).describe("The maximum of `exp − iat`, in seconds."),
  reusable_assertions: z
    .boolean()
    .default(false)
    .describe("Accept an assertion repeatedly until it expires; otherwise each `jti` only once."),
  rules: z.array(rule).max(50).default([]),
});
