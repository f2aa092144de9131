import * as z from "zod";
import { scopeValue, visibleText } from "../http/plain-text.ts";
import { uriText } from "../issuers/issuer-schema.ts";
import { claimsSchema } from "../users/claims-schema.ts";

export const upstreamKinds = ["oidc", "google", "microsoft", "apple", "github"] as const;

const tenant = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "must be the id of a directory in lower case");

/** Claims of this provider that no mapping of an upstream claim may set: addresses have rules of their own. */
const ownClaims: readonly string[] = ["email", "email_verified", "phone_number_verified", "updated_at", "address"];
export const mappedClaims = Object.keys(claimsSchema.shape).filter((name) => !ownClaims.includes(name));

/** Lower case, in A-label form: as the domain of an address is compared. */
export const domainPattern = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
const domain = z.string().regex(domainPattern, "must be a domain in lower case (xn-- for other scripts)");

/**
 * **The record of an upstream provider**, with its status: the admin API's document, as stored in D1, defaults filled in. Its secret is stored beside
 * it, sealed. Rules between members are in op-management's `upstream-document.ts`.
 */
export const upstreamDocumentSchema = z.strictObject({
  name: visibleText(64).describe("As the sign-in page shows it."),
  status: z.enum(["active", "disabled"]).default("active"),
  kind: z.enum(upstreamKinds).default("oidc").describe("`oidc`: an OpenID provider with discovery. Cannot be changed."),
  issuer: uriText
    .max(255)
    .exactOptional()
    .describe("The issuer identifier, for `oidc`: https, with discovery below it."),
  client_id: z.string().min(1).max(255).describe("The identifier of this provider there."),
  token_endpoint_auth_method: z
    .enum(["client_secret_basic", "client_secret_post", "private_key_jwt"])
    .default("client_secret_basic"),
  tenants: z
    .array(tenant)
    .min(1)
    .max(100)
    .exactOptional()
    .describe("For `microsoft`: the directories whose people sign in."),
  team_id: z.string().min(1).max(32).exactOptional().describe("For `apple`: the team that the key belongs to."),
  key_id: z.string().min(1).max(128).exactOptional().describe("The `kid` of the private key."),
  scopes: z
    .array(scopeValue)
    .min(1)
    .max(20)
    .exactOptional()
    .describe("Requested scopes; by default those that give a name and an address."),
  claims: z
    .partialRecord(z.enum(mappedClaims as [string, ...string[]]), z.string().min(1).max(128))
    .default({})
    .describe(
      "For claims of new people, the claims of the upstream provider that contain them; others have the same name.",
    ),
  required_claims: z
    .record(
      z
        .string()
        .max(128)
        .regex(/^(\/([^/~]|~[01])+)+$/, "must be a JSON Pointer, such as /tenant"),
      z.string().min(1).max(255),
    )
    .exactOptional()
    .describe(
      "What the ID token must contain, or UserInfo if the ID token lacks it, by JSON Pointer (RFC 6901): a sign-in with another value is refused. It tells the companies of one issuer apart, such as those of a bridge for SAML. Not for `github`.",
    ),
  acr_map: z
    .record(z.string().min(1).max(255), z.enum(["mfa", "phr"]))
    .default({})
    .describe("The meaning of each `acr` value of the upstream provider. Other values count as one factor."),
  trusted_domains: z
    .array(z.union([domain, z.literal("*")]))
    .max(100)
    .default([])
    .describe(
      "Domains of addresses for which its `email_verified` is believed; `*`: all. An address that is not believed never leads to an account.",
    ),
  sign_up: z
    .enum(["off", "domains", "anyone"])
    .default("off")
    .describe(
      "Who gets an account at the first sign-in: nobody, people with a believed address in `domains`, or everyone.",
    ),
  backchannel_logout: z
    .boolean()
    .exactOptional()
    .describe(
      "For `oidc`: it may end the sessions that rest on it, by logout tokens sent to `{ISSUER}/upstream/{upstream_id}/backchannel-logout`.",
    ),
  link_only: z
    .boolean()
    .default(false)
    .describe("Only people who have connected it sign in with it, and the sign-in page does not offer it to others."),
  domains: z
    .array(domain)
    .max(100)
    .default([])
    .describe(
      "Domains of addresses whose people may sign up, and which `discovery` is about. A domain belongs to one upstream provider.",
    ),
  discovery: z
    .enum(["off", "offer", "require"])
    .default("off")
    .describe(
      "The effect of an address of one of `domains` on the sign-in page: none, this provider if no password is typed, or always this provider. With `require`, people with such a verified address sign in with nothing else; open sessions stay.",
    ),
});
