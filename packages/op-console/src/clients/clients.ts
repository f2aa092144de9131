import type { ClientMetadata } from "@edge-op/shared/clients/client";
import type { ClientResource } from "../api/resources.ts";
import { defineRecord } from "../records/define-record.tsx";
import { type RecordSpec, recordPath } from "../records/record.ts";
import { defineLists } from "../records/record-pages.tsx";
import { timeText } from "../serve/parts.tsx";
import type { ConsoleRoute } from "../serve/route.ts";
import { documentHosts } from "./document-hosts.ts";
import { newSecretPath, secretChanges, secretSection, secretView } from "./secrets.tsx";
import { testSignIn } from "./test-sign-in.tsx";

const userScopes = "openid profile email offline_access";

/** The metadata that the profiles of docs/clients.md register. */
const profiles = {
  web: {
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["authorization_code", "refresh_token"],
    scope: userScopes,
  },
  spa: {
    ...{ token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"], scope: userScopes },
    dpop_bound_access_tokens: true,
  },
  native: {
    ...{ token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"], scope: userScopes },
    application_type: "native",
  },
  service: {
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["client_credentials"],
    response_types: [],
    scope: "",
  },
} as const satisfies Record<string, Partial<ClientMetadata>>;

/** **Clients.** Their policies are JSON, as the admin API has them. */
export const clients: RecordSpec<ClientResource> = {
  ...{ noun: "Client", path: "/console/clients", api: "/clients", id: "client_id", scope: "admin:clients" },
  ...{ kind: "client.kind", plural: "clients.title", create: "clients.create" },
  ends: { edit: "client.editEnds", delete: "client.deleteEnds", disable: "client.disableEnds" },
  conditions: { client_name: "client.byName", client_id: "client.byId", status: "client.byStatus" },
  fields: [
    { name: "client_name", label: "client.name", kind: "text" },
    {
      ...{ name: "profile", label: "client.profile", kind: "choice", only: "creation" },
      options: [
        ["web", "client.profile.web"],
        ["spa", "client.profile.spa"],
        ["native", "client.profile.native"],
        ["service", "client.profile.service"],
      ],
    },
    { name: "client_id", label: "client.id", help: "client.idHelp", kind: "text", only: "creation" },
    { name: "redirect_uris", label: "client.redirects", kind: "lines" },
    { name: "post_logout_redirect_uris", label: "client.afterLogout", kind: "lines", only: "change" },
    { name: "scope", label: "client.scope", help: "client.scopeHelp", kind: "text", withoutText: "empty" },
    { name: "audiences", label: "client.audiences", help: "client.audiencesHelp", kind: "lines" },
    { name: "access_token_lifetime", label: "client.lifetime", kind: "number", only: "change" },
    { name: "skip_consent", label: "client.skipConsent", kind: "check", only: "change" },
    { name: "require_mfa", label: "client.requireMfa", kind: "check", only: "change" },
    {
      ...{ name: "organization", label: "client.organization", kind: "choice", only: "change" },
      options: [
        ["", "value.none"],
        ["allowed", "client.organization.allowed"],
        ["required", "client.organization.required"],
      ],
    },
    { name: "token_exchange", label: "client.tokenExchange", kind: "json", only: "change" },
    { name: "jwt_bearer", label: "client.jwtBearer", kind: "json", only: "change" },
    { name: "id_jag_targets", label: "client.idJagTargets", kind: "json", only: "change" },
    { name: "introspection", label: "client.introspection", kind: "json", only: "change" },
  ],
  nameOf: ({ client_id: id, client_name: name }) => name ?? id,
  detailOf: ({ client_id: id, redirect_uris: [uri] = [] }) => [id, uri],
  bodyOf({ profile, ...members }) {
    const known = Object.entries(profiles).find(([name]) => name === profile)?.[1] ?? profiles.web;
    return { ...known, ...members };
  },
  created: (at, body) => secretView(at, "client.createdTitle", String(body["client_id"]), body["client_secret"]),
  facts: ({ t }, { token_endpoint_auth_method: method, grant_types: grants, ...client }) => [
    [t("client.authentication"), method],
    [t("client.grants"), grants],
    [t("client.created"), timeText(client.client_id_issued_at)],
    [t("client.updated"), timeText(client.updated_at)],
  ],
  actions: ({ t }, { client_id: id, token_endpoint_auth_method: method }) => [
    { href: recordPath("/console/clients", id, "/test"), text: t("client.test") },
    ...(method?.startsWith("client_secret") ? [{ href: newSecretPath(id), text: t("client.newSecret") }] : []),
  ],
  alsoReads: ["listClientSecrets"],
  sections: secretSection,
};

export const clientPages: readonly ConsoleRoute[] = [
  defineLists({ path: clients.path, title: clients.plural, records: [clients, documentHosts] }),
  ...defineRecord(clients),
  ...secretChanges(clients),
  testSignIn,
  ...defineRecord(documentHosts),
];
