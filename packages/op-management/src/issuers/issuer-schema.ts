import { clientIdText, idText, issuerDocumentSchema, tokenUses, uriText } from "@edge-op/shared/issuers/issuer-schema";
import * as z from "zod";

/** **Requests and responses of `/admin/issuers`.** */
const issuerName = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[\x21-\x7e]+$/, "must be printable ASCII");

export const issuerCreateSchema = z
  .strictObject({
    ...issuerDocumentSchema.shape,
    issuer: issuerName,
    issuer_id: idText.optional().describe("Chosen by the server unless given."),
  })
  .meta({ id: "IssuerCreate" });

export const issuerSchema = z
  .strictObject({
    issuer_id: z.string(),
    issuer: z.string(),
    created_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
    ...issuerDocumentSchema.shape,
  })
  .meta({ id: "Issuer" });

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
    client_id: clientIdText.optional().describe("The authenticated client that presents it; absent: none."),
    audience: z.array(uriText).max(16).default([]),
    resource: z.array(uriText).max(16).default([]),
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
