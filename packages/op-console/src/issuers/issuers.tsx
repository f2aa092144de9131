import { defineRecord } from "../records/define-record.tsx";
import { type RecordSpec, recordPath } from "../records/record.ts";
import { defineLists } from "../records/record-pages.tsx";
import { type Fact, Facts } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";
import { testRules } from "./test-rules.tsx";

const path = "/console/issuers";
const common = { scope: "admin:issuers" } as const;

interface Issuer {
  readonly issuer_id: string;
  readonly issuer: string;
  readonly rules?: readonly { readonly rule_id: string }[];
}

/** **Trusted issuers** of tokens. Their rules are JSON, as the admin API has them; the tester is beside it. */
const issuers: RecordSpec<Issuer> = {
  ...{ ...common, noun: "Issuer", path, api: "/issuers", id: "issuer_id" },
  ...{ kind: "issuer.kind", plural: "issuers.issuers", create: "issuer.create" },
  ends: {
    create: "issuer.createEnds",
    edit: "issuer.editEnds",
    delete: "issuer.deleteEnds",
    disable: "issuer.disableEnds",
  },
  fields: [
    {
      name: "issuer",
      label: "issuer.issuer",
      help: "issuer.unchanged",
      kind: "text",
      isRequired: true,
      only: "creation",
    },
    { name: "issuer_id", label: "record.id", help: "issuer.idHelp", kind: "text", only: "creation" },
    { name: "name", label: "issuer.name", kind: "text" },
    { name: "discovery_uri", label: "issuer.discovery", help: "issuer.keysHelp", kind: "text" },
    { name: "jwks_uri", label: "issuer.jwksUri", kind: "text" },
    { name: "jwks", label: "issuer.jwks", kind: "json" },
    { name: "algorithms", label: "issuer.algorithms", kind: "lines", withoutText: "absent" },
    {
      name: "audiences",
      label: "issuer.audiences",
      help: "issuer.audiencesHelp",
      kind: "lines",
      withoutText: "absent",
    },
    { name: "max_token_lifetime", label: "issuer.lifetime", kind: "number" },
    { name: "reusable_assertions", label: "issuer.reusable", kind: "check" },
    { name: "rules", label: "issuer.rules", help: "issuer.rulesHelp", kind: "json" },
  ],
  nameOf: ({ issuer }) => issuer,
  detailOf: ({ issuer_id: id, rules = [] }) => [id, rules.map(({ rule_id: rule }) => rule).join(" ")],
  facts: ({ t }, { rules = [] }) => [[t("issuer.ruleIds"), rules.map(({ rule_id: rule }) => rule)]],
  actions: ({ t }, { issuer_id: id }) => [{ href: recordPath(path, id, "/test"), text: t("test.title") }],
};

interface Upstream {
  readonly upstream_id: string;
  readonly name: string;
  readonly kind: string;
  readonly issuer?: string;
  readonly backchannel_logout?: boolean;
}

/** What is registered there. */
function urlsOf({ t, context }: PageCall, id: string, hasLogout: boolean): Fact[] {
  const url = `${context.settings.issuer}/upstream/${id}`;
  const logout: Fact = [t("upstream.logoutUri"), `${url}/backchannel-logout`];
  return [[t("upstream.callback"), `${url}/callback`], ...(hasLogout ? [logout] : [])];
}

/** The redirect URI is registered there before there is a client id to create the provider with. */
function urlsNote(at: PageCall, id: string | undefined, hasLogout: boolean) {
  return <Facts t={at.t} facts={urlsOf(at, id || at.t("upstream.idOfForm"), hasLogout)} />;
}

/** **Upstream providers**, with which people sign in here. */
const upstreams: RecordSpec<Upstream> = {
  ...{ ...common, noun: "Upstream", path: "/console/upstreams", api: "/upstreams", id: "upstream_id" },
  ...{ kind: "upstream.kind", plural: "issuers.upstreams", create: "upstream.create" },
  ends: {
    create: "upstream.createEnds",
    edit: "upstream.editEnds",
    delete: "upstream.deleteEnds",
    disable: "upstream.disableEnds",
  },
  fields: [
    { name: "name", label: "upstream.name", kind: "text", isRequired: true },
    {
      ...{ name: "upstream_id", label: "record.id", help: "upstream.idHelp", kind: "text", isRequired: true },
      only: "creation",
    },
    { name: "issuer", label: "issuer.issuer", kind: "text", isRequired: true, of: ["oidc"] },
    {
      ...{ name: "tenants", label: "upstream.tenants", help: "upstream.tenantsHelp", kind: "lines" },
      ...{ withoutText: "absent", of: ["microsoft"] },
    },
    { name: "client_id", label: "upstream.client", kind: "text", isRequired: true },
    {
      ...{ name: "token_endpoint_auth_method", label: "upstream.authentication", kind: "choice", of: ["oidc"] },
      options: [["client_secret_basic"], ["client_secret_post"], ["private_key_jwt"]],
    },
    {
      ...{ name: "client_secret", label: "upstream.secret", kind: "secret" },
      of: ["oidc", "google", "microsoft", "github"],
    },
    { name: "team_id", label: "upstream.team", kind: "text", isRequired: true, of: ["apple"] },
    { name: "private_key", label: "upstream.key", kind: "secret", of: ["oidc", "apple"] },
    { name: "key_id", label: "upstream.keyId", kind: "text", of: ["oidc", "apple"] },
    { name: "scopes", label: "upstream.scopes", kind: "lines", withoutText: "absent" },
    { name: "claims", label: "upstream.claims", kind: "pairs" },
    { name: "acr_map", label: "upstream.acr", kind: "pairs", of: ["oidc", "microsoft"] },
    {
      ...{ name: "required_claims", label: "upstream.requiredClaims", kind: "pairs", withoutText: "absent" },
      of: ["oidc", "google", "microsoft", "apple"],
    },
    {
      ...{ name: "trusted_domains", label: "upstream.trusted", help: "upstream.trustedHelp", kind: "lines" },
      of: ["oidc", "microsoft"],
    },
    {
      ...{ name: "sign_up", label: "upstream.signUp", kind: "choice" },
      options: [
        ["off", "upstream.signUp.off"],
        ["domains", "upstream.signUp.domains"],
        ["anyone", "upstream.signUp.anyone"],
      ],
    },
    { name: "domains", label: "upstream.domains", kind: "lines" },
    {
      ...{ name: "discovery", label: "upstream.discovery", kind: "choice" },
      options: [
        ["off", "upstream.discovery.off"],
        ["offer", "upstream.discovery.offer"],
        ["require", "upstream.discovery.require"],
      ],
    },
    { name: "link_only", label: "upstream.linkOnly", kind: "check" },
    {
      ...{ name: "backchannel_logout", label: "upstream.logout", help: "upstream.logoutHelp", kind: "check" },
      of: ["oidc"],
    },
  ],
  kinds: {
    ...{ member: "kind", text: "upstream.kindText" },
    options: [
      ["google", "upstream.google"],
      ["microsoft", "upstream.microsoft"],
      ["apple", "upstream.apple"],
      ["github", "upstream.github"],
      ["oidc", "upstream.oidc"],
    ],
    begin(at, kind) {
      const values = kind === "oidc" ? undefined : { upstream_id: kind };
      const id = at.form?.get("upstream_id") ?? values?.upstream_id;
      return { ...(values && { values }), note: urlsNote(at, id, kind === "oidc") };
    },
  },
  nameOf: ({ name }) => name,
  detailOf: ({ upstream_id: id, kind, issuer }) => [[id, kind, issuer].filter(Boolean).join(" · ")],
  facts: (at, { upstream_id: id, backchannel_logout: hasLogout = false }) => urlsOf(at, id, hasLogout),
};

export const issuerPages: readonly ConsoleRoute[] = [
  defineLists({ path, title: "issuers.title", text: "issuers.text", records: [issuers, upstreams] }),
  testRules,
  ...defineRecord(issuers),
  ...defineRecord(upstreams),
];
