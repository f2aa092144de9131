/** **Requests and responses of `/admin/upstreams`.** */

import { decodeBase64 } from "@edge-op/protocol/encoding/bytes";
import type { FieldError } from "@edge-op/protocol/oauth/errors";
import { refuseClientUrl } from "@edge-op/shared/http/client-url";
import { has, hasItems, hasNone, isAmong, when } from "@edge-op/shared/http/plain-text";
import { invalidFields, requireValid } from "@edge-op/shared/http/require-valid";
import { idText } from "@edge-op/shared/issuers/issuer-schema";
import { keyFingerprint } from "@edge-op/shared/secrets/deployment-facts";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { sealText } from "@edge-op/shared/secrets/seal";
import { upstreamSeal } from "@edge-op/shared/upstreams/upstream";
import { upstreamDocumentSchema } from "@edge-op/shared/upstreams/upstream-schema";
import * as z from "zod";
import type { StoredUpstream } from "./upstream-table.ts";

/** Stored sealed, and never shown. */
const upstreamSecretSchema = z.strictObject({
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
      when(isAmong("kind", ["google", "microsoft", "apple", "github"]), [isAmong("backchannel_logout", [false], true)]),
      when(isAmong("kind", ["github"]), [hasNone("required_claims")]),
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

type Input = z.output<typeof writableUpstream>;
type Record = Pick<StoredUpstream, "status" | "document" | "secret" | "sealedBy">;

interface Deployment {
  readonly env: MasterKeyBindings;
  readonly settings: { readonly issuer: string };
}

/**
 * **Completes and checks an upstream provider** before it is stored, and seals its secret. Refuses it with every fault. `known`: the record before a
 * patch, whose secret stays unless another one is given or the authentication changes.
 */
export async function requireUpstream(
  { env, settings }: Deployment,
  upstreamId: string,
  input: unknown,
  known?: Record,
): Promise<Record> {
  const {
    status,
    client_secret: clientSecret,
    private_key: privateKey,
    ...document
  } = requireValid(writableUpstream, input);
  const usesKey = usesPrivateKey(document);
  const given = usesKey ? privateKey : clientSecret;
  const keepsSecret = known !== undefined && usesPrivateKey(known.document) === usesKey;
  const kept = keepsSecret ? known : undefined;
  const secretMember = usesKey ? "private_key" : "client_secret";
  const faults = [
    ...documentFaults(document, settings.issuer),
    ...fault(known !== undefined && known.document.kind !== document.kind, "kind", "cannot be changed"),
    ...fault(given === undefined && kept?.secret === undefined, secretMember, "is required"),
    ...fault(
      (usesKey ? clientSecret : privateKey) !== undefined,
      usesKey ? "client_secret" : "private_key",
      "belongs to another token_endpoint_auth_method",
    ),
    ...fault(
      usesKey && given !== undefined && !(await isSigningKey(given)),
      "private_key",
      "must be an EC key of P-256, PKCS #8 in PEM",
    ),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  if (given === undefined) return { status, document, secret: kept?.secret, sealedBy: kept?.sealedBy };
  const secret = await sealText(env, "upstream-seal", given, { bound: upstreamSeal(upstreamId) });
  return { status, document, secret, sealedBy: await keyFingerprint(env.OP_MASTER_KEY) };
}

function usesPrivateKey({
  kind,
  token_endpoint_auth_method: method,
}: Pick<Document, "kind" | "token_endpoint_auth_method">): boolean {
  return kind === "apple" || method === "private_key_jwt";
}

type Document = Omit<Input, "status" | "client_secret" | "private_key">;

/** Members that only some kinds have, and those that need them. */
const ownMembers = { issuer: "oidc", tenants: "microsoft", team_id: "apple" } as const;
/** Google, Microsoft, Apple and GitHub send no logout tokens. */
const sendsLogout = "belongs to oidc: other kinds send no logout tokens";

function documentFaults(document: Document, ownIssuer: string): FieldError[] {
  const { kind, issuer, scopes, sign_up: signUp, domains, discovery, key_id: keyId } = document;
  const issuerFault = issuer === undefined ? undefined : findIssuerFault(issuer, ownIssuer);
  const members = Object.entries(ownMembers).flatMap(([name, owner]) => {
    const isGiven = document[name as keyof typeof ownMembers] !== undefined;
    return [
      ...fault(isGiven && kind !== owner, name, `belongs to ${owner}`),
      ...fault(!isGiven && kind === owner, name, "is required"),
    ];
  });
  return [
    ...members,
    ...fault(issuerFault !== undefined, "issuer", issuerFault ?? ""),
    ...fault(kind !== "oidc" && document.backchannel_logout === true, "backchannel_logout", sendsLogout),
    ...fault(kind === "github" && document.required_claims !== undefined, "required_claims", "github has no ID token"),
    ...fault(kind !== "github" && scopes?.includes("openid") === false, "scopes", "must contain openid"),
    ...fault(signUp === "domains" && domains.length === 0, "domains", "must name a domain for sign_up domains"),
    ...fault(discovery !== "off" && domains.length === 0, "domains", "must name a domain for discovery"),
    ...fault(discovery !== "off" && document.link_only, "discovery", "must be off for link_only"),
    ...fault(keyId !== undefined && !usesPrivateKey(document), "key_id", "belongs to private_key_jwt"),
    ...fault(keyId === undefined && kind === "apple", "key_id", "is required"),
  ];
}

function findIssuerFault(issuer: string, ownIssuer: string): string | undefined {
  const refusal = refuseClientUrl(issuer, ownIssuer);
  if (refusal !== undefined) return `must be https on a public host: it is ${refusal}`;
  if (/[?#]/.test(issuer)) return "must have no query and no fragment";
  return isOfSeveralDirectories(issuer)
    ? "must name one directory, by its id in lower case: for people of several, use the kind microsoft with tenants"
    : undefined;
}

/** The hosts of Microsoft's clouds. The metadata below a name there, not an id, has another issuer. */
const microsoftHosts =
  /(^|\.)(microsoftonline\.(com|us|de|cn)|chinacloudapi\.cn|(login|sts)\.windows\.net|ciamlogin\.com)$/;

/** A template (`{tenantid}`), a name for several directories (`common`), or the name of a domain. */
function isOfSeveralDirectories(issuer: string): boolean {
  if (/[{}]|%7[bd]/i.test(issuer)) return true;
  const { hostname, pathname } = new URL(issuer);
  const isOne = /^\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\/|$)/.test(pathname);
  return microsoftHosts.test(hostname) && !isOne;
}

function fault(broken: boolean, path: string, message: string): FieldError[] {
  return broken ? [{ path, message }] : [];
}

async function isSigningKey(pem: string): Promise<boolean> {
  const der = decodeBase64(pem.replace(/-----(BEGIN|END) PRIVATE KEY-----|\s/g, ""));
  if (der === undefined) return false;
  try {
    await crypto.subtle.importKey("pkcs8", der, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}
