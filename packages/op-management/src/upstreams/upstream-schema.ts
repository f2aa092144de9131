/** **Requests and responses of `/admin/upstreams`.** */

import { has, hasItems, hasNone, isAmong, when } from "@edge-op/shared/http/plain-text";
import { idText } from "@edge-op/shared/issuers/issuer-schema";
import { upstreamDocumentSchema } from "@edge-op/shared/upstreams/upstream-schema";
import * as z from "zod";

/** Stored sealed, and never shown. */
export const upstreamSecretSchema = z.strictObject({
  client_secret: z.string().min(1).max(1024).exactOptional().meta({ format: "password", writeOnly: true }),
  private_key: z
    .string()
    .min(1)
    .max(2048)
    .exactOptional()
    .meta({ format: "password", writeOnly: true })
    .describe("For `private_key_jwt`: an EC key of P-256, PKCS #8 in PEM. It signs with ES256."),
});

export const writableUpstream = z.strictObject({ ...upstreamDocumentSchema.shape, ...upstreamSecretSchema.shape });

export const upstreamCreateSchema = writableUpstream
  .extend({
    upstream_id: idText
      .optional()
      .describe(
        "Chosen by the server unless given. The redirect URI to be registered there is `{ISSUER}/upstream/{upstream_id}/callback`.",
      ),
  })
  .meta({
    id: "UpstreamCreate",
    allOf: [
      when(isAmong("kind", ["oidc"], true), [has("issuer")], hasNone("issuer")),
      when(isAmong("kind", ["microsoft"]), [has("tenants")], hasNone("tenants")),
      when(isAmong("kind", ["apple"]), [has("team_id", "key_id")], hasNone("team_id")),
      when(
        { anyOf: [isAmong("kind", ["apple"]), isAmong("token_endpoint_auth_method", ["private_key_jwt"])] },
        [has("private_key"), hasNone("client_secret")],
        { allOf: [has("client_secret"), hasNone("private_key", "key_id")] },
      ),
      when(isAmong("sign_up", ["domains"]), [hasItems("domains")]),
      when(isAmong("discovery", ["offer", "require"]), [hasItems("domains"), isAmong("link_only", [false], true)]),
    ],
  });

export const upstreamSchema = z
  .strictObject({
    upstream_id: z.string(),
    has_secret: z.boolean(),
    created_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
    ...upstreamDocumentSchema.shape,
  })
  .meta({
    id: "Upstream",
    examples: [
      {
        ...{ upstream_id: "corp", name: "Example Corp", status: "active", kind: "oidc" },
        ...{ issuer: "https://idp.example.net", client_id: "op", has_secret: true },
        ...{ token_endpoint_auth_method: "client_secret_basic", claims: {}, acr_map: {}, trusted_domains: [] },
        ...{
          sign_up: "off",
          link_only: false,
          domains: [],
          discovery: "off",
          created_at: 1795000000,
          updated_at: 1795000000,
        },
      },
    ],
  });
