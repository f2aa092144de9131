/**
 * **Examples of the OpenAPI document**: a body for each operation that has one, and values of the parameters in paths. The schemas of responses have
 * their own. A test validates them.
 */

import * as z from "zod";

export const exampleBodies: Readonly<Record<string, unknown>> = {
  createClient: {
    client_name: "Photos",
    redirect_uris: ["https://photos.example.com/callback"],
    scope: "openid profile email",
  },
  updateClient: { client_name: "Photos of Example", contacts: null },
  rotateClientSecret: { overlap_seconds: 3600 },
  createResource: {
    identifier: "https://api.example.com",
    name: "Photos API",
    clients: "any",
    scopes: [{ value: "photos:read", description: "See your photos", translations: { de: "Ihre Fotos sehen" } }],
  },
  updateResource: { access_token_lifetime: 300 },
  createIssuer: {
    issuer: "https://token.actions.githubusercontent.com",
    rules: [
      {
        rule_id: "deploy",
        uses: ["assertion"],
        claims: { sub: { exact: "repo:acme/site:ref:refs/heads/main" } },
        client_id: "deploy",
        subject: { type: "client" },
        resources: ["https://api.example.com"],
        scopes: ["deploy"],
      },
    ],
  },
  updateIssuer: { status: "disabled" },
  testIssuer: { claims: { sub: "repo:acme/site:ref:refs/heads/main" }, use: "assertion" },
  createUpstream: {
    upstream_id: "corp",
    name: "Example Corp",
    issuer: "https://idp.example.net",
    client_id: "op",
    client_secret: "as that provider gave it",
  },
  updateUpstream: { status: "disabled" },
  replaceDocumentHost: { policy: "allow" },
  replaceBranding: {
    brand_color: "#8a1253",
    corner_radius: 4,
    font: "serif",
    texts: {
      sign_in_intro: { en: "With the account of your library card.", de: "Mit dem Konto Ihres Bibliotheksausweises." },
    },
  },
  createAttribute: {
    attribute: "cost_centre",
    type: "string",
    max_length: 16,
    title: "Cost centre",
    titles: { de: "Kostenstelle" },
    claim: { name: "cost_centre", scope: "employment", tokens: ["id_token", "userinfo"] },
  },
  updateAttribute: { claim: { tokens: ["id_token", "access_token", "userinfo"] } },
  createUser: {
    username: "ann",
    claims: { name: "Ann Example", email: "ann@example.com", email_verified: true },
    roles: ["editor"],
  },
  updateUser: { status: "suspended" },
  importUsers: {
    users: [
      {
        ...{ sub: "auth0|5f7c8ec7c33c6c004bbafe82", username: "mia" },
        claims: { email: "mia@example.com", email_verified: true },
        password_hash: "$2b$10$LcAJpQOdb9oREr9YKdrWNeeNgc4uAOIhmn/hoQop46xA8C2DhJI7y",
      },
    ],
  },
  updateUsers: { users: [{ sub: "u1cLmU5bGqTzqyG9bqk8Xyg", attributes: { cost_centre: "4711" } }] },
  eraseUser: { confirm: "u1cLmU5bGqTzqyG9bqk8Xyg" },
  createInvitation: { email: "maria@example.com", name: "Maria Muster", groups: ["staff"], locale: "de" },
  replaceRole: { permissions: ["articles:write"] },
  replaceGroup: { roles: ["editor"] },
  createOrganization: { org_id: "acme", name: "Acme" },
  updateOrganization: { status: "disabled" },
  replaceMember: { roles: ["billing"] },
  inviteMember: { email: "maria@example.com", name: "Maria Muster", roles: ["billing"], locale: "de" },
  createScimToken: { name: "Entra" },
  replaceScimGroup: { roles: ["billing"] },
  replaceOrganizationRole: { permissions: ["invoices:read"] },
  rotateKey: { alg: "ES256" },
  revoke: { sub: "u1cLmU5bGqTzqyG9bqk8Xyg" },
  revokeEverything: { confirm: "https://op.example.com" },
  decideHeldRecords: { decision: "refuse", records: [{ kind: "client", id: "photos" }] },
  openGeneration: { store: "revocation", regions: { wnam: { shards: 16, hint: "wnam" } } },
};

export const exampleParameters: Readonly<Record<string, string>> = {
  client_id: "photos",
  secret_id: "s4mVbYH3fL1q",
  resource_id: "photos-api",
  issuer_id: "github",
  upstream_id: "corp",
  host: "*.example.com",
  branding_id: "current",
  attribute: "cost_centre",
  sub: "u1cLmU5bGqTzqyG9bqk8Xyg",
  identity_id: "dGhlIGlkZW50aXR5IGlkLg",
  factor_id: "dGhlIGF1dGhlbnRpY2F0b3I",
  sid: "g1.wnam.3.Zk1tVn0uGq8Yk3Jx",
  grant_id: "g1:wnam:3:6q0mXbN4hT1yRw2cVd8L5A.1z.1z",
  invitation_id: "pYc2T0F3m6q1Xn4bV8sLwg",
  name: "editor",
  org_id: "acme",
  domain: "example.com",
  token_id: "c2NpbS10b2tlbjAx",
  group_id: "0mhqk2x9cJq3pV8sT1bRzYw4n",
  kid: "es256-2026-11-22",
};

/** The example of a response: the schema's own, or one of the examples of its members, without optional ones. */
export function exampleOf(schema: z.ZodType): unknown {
  const { examples } = schema.meta() ?? {};
  if (Array.isArray(examples)) return examples[0];
  if (schema instanceof z.ZodArray) return [exampleOf(schema.element as z.ZodType)];
  if (!(schema instanceof z.ZodObject)) return undefined;
  const members = Object.entries(schema.shape as Record<string, z.ZodType>);
  return Object.fromEntries(members.flatMap(([name, member]) => withExample(name, exampleOf(member))));
}

function withExample(name: string, example: unknown): [string, unknown][] {
  return example === undefined ? [] : [[name, example]];
}
