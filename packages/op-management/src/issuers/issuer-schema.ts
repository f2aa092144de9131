/** **Requests and responses of `/admin/issuers`.** */

import { has, hasNone, when } from "@edge-op/shared/http/plain-text";
import { clientIdText, idText, issuerDocumentSchema, tokenUses, uriText } from "@edge-op/shared/issuers/issuer-schema";
import * as z from "zod";

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
  .meta({
    id: "Issuer",
    examples: [
      {
        issuer_id: "github",
        issuer: "https://token.actions.githubusercontent.com",
        status: "active",
        discovery_uri: "https://token.actions.githubusercontent.com/.well-known/openid-configuration",
        algorithms: ["RS256", "ES256"],
        max_token_lifetime: 3600,
        reusable_assertions: false,
        rules: [
          {
            ...{ rule_id: "deploy", status: "active", uses: ["assertion"] },
            claims: { sub: { exact: "repo:acme/site:ref:refs/heads/main" } },
            ...{ client_id: "deploy", subject: { type: "client" } },
            ...{ audiences: [], resources: ["https://api.example.com"], scopes: ["deploy"] },
          },
        ],
        created_at: 1795000000,
        updated_at: 1795000000,
      },
    ],
  });

export const issuerTestSchema = z
  .strictObject({
    token: z
      .string()
      .min(1)
      .max(16_384)
      .optional()
      .describe("A complete token, whose signature is verified too. Nothing is spent."),
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
  .meta({ id: "IssuerTest", ...when(has("token"), [hasNone("claims")], has("claims")) });

export const issuerTestResultSchema = z
  .strictObject({
    accepted: z.boolean(),
    faults: z.array(z.string()).describe("The faults of the token itself, regardless of the rules."),
    signature: z.enum(["valid", "invalid", "not checked"]),
    rule_id: z.string().optional().describe("The rule that matches."),
    rules: z.array(z.strictObject({ rule_id: z.string(), matches: z.boolean(), reasons: z.array(z.string()) })),
    outcome: z
      .strictObject({
        client_id: z.string().optional().describe("The client that would get a token."),
        sub: z.string().optional(),
        user: z.boolean().optional(),
        scopes: z.array(z.string()),
        faults: z.array(z.string()).describe("The reasons for which it would still be refused."),
      })
      .optional(),
  })
  .meta({
    id: "IssuerTestResult",
    examples: [
      {
        ...{ accepted: true, faults: [], signature: "not checked", rule_id: "deploy" },
        rules: [{ rule_id: "deploy", matches: true, reasons: [] }],
        outcome: { client_id: "deploy", sub: "deploy", user: false, scopes: ["deploy"], faults: [] },
      },
    ],
  });
