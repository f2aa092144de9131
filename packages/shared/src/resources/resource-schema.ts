import { signingAlgorithms } from "@edge-op/protocol/jwt/signing-algorithms";
import { rbacScopes, scopeClaims } from "@edge-op/protocol/oauth/claims";
import { accessTokenTypes } from "@edge-op/protocol/oauth/registered-names";
import { isAdminScope } from "@edge-op/protocol/oauth/scope";
import * as z from "zod";
import { scopeValue, textsByLanguage, visibleText } from "../http/plain-text.ts";

const mostScopes = 100;
const mostClients = 100;
const longestId = 255;

/** Their meaning, and the words at consent, are this provider's own. */
const reservedScopes: readonly string[] = ["openid", "offline_access", ...Object.keys(scopeClaims), ...rbacScopes];

const scopeSchema = z
  .strictObject({
    value: scopeValue.refine(
      (value) => !isAdminScope(value) && !reservedScopes.includes(value),
      "is a scope value of this provider",
    ),
    description: visibleText(200).describe("As shown to users at consent."),
    translations: textsByLanguage(200).describe(
      "The description in further languages, by language tag: `de`, `pt-BR`.",
    ),
    default: z.boolean().exactOptional().describe("Granted if a request names the resource and no scope."),
  })
  .meta({ id: "ResourceScope" });

/**
 * **The metadata of a resource**: an API or MCP server that tokens are issued for, as stored in D1 and shown by the admin API.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 * @see https://www.rfc-editor.org/rfc/rfc9728#section-2
 */
export const resourceMetadataSchema = z.strictObject({
  name: visibleText(100).describe("As shown to users at consent."),
  translations: textsByLanguage(100).describe("The name in further languages, by language tag: `de`, `pt-BR`."),
  scopes: z
    .array(scopeSchema)
    .max(mostScopes)
    .refine((scopes) => new Set(scopes.map(({ value }) => value)).size === scopes.length, "must not repeat a value")
    .default([])
    .describe("The scope values that the resource supports."),
  clients: z
    .union([z.enum(["registered", "any"]), z.array(z.string().min(1).max(longestId)).max(mostClients)])
    .default([])
    .describe(
      "Who may request its tokens: `registered` (every registered client), `any` (also clients that are only known by their metadata document), or a list of `client_id`s. Clients whose `audiences` name the resource may also request them.",
    ),
  access_token_lifetime: z
    .int()
    .min(1)
    .max(86_400)
    .exactOptional()
    .describe("Seconds; the shorter of this and the client's lifetime applies."),
  access_token_signed_response_alg: z.enum(signingAlgorithms).exactOptional().describe("Signature of its tokens."),
  access_token_typ: z
    .enum(accessTokenTypes)
    .exactOptional()
    .describe("The `typ` of its tokens: `at+jwt` (RFC 9068) by default, or `JWT` for libraries that refuse that."),
  bound_tokens_required: z
    .boolean()
    .exactOptional()
    .describe("Its tokens are issued only to a key that the request proves."),
});
