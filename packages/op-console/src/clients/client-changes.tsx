import type { ClientMetadata } from "@edge-op/shared/clients/client";
import type { ClientResource } from "../api/resources.ts";
import { defineChange, type Found } from "../serve/define-change.tsx";
import { changedFields, type Field, linesOf, type Values } from "../serve/fields.tsx";
import { Actions, Facts, Head } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";
import { clientPath, clientsPath } from "./client-paths.ts";
import { type ClientKey, clientMessages } from "./messages.ts";

const scope = "admin:clients";
const messages = clientMessages;

const apiPath = (at: PageCall<ClientKey>, below = "") => `/clients/${encodeURIComponent(at.parameter("id"))}${below}`;
const back = (at: PageCall<ClientKey>) => clientPath(at.parameter("id"));

async function find(at: PageCall<ClientKey>): Promise<Found> {
  const { body, etag } = await at.api.send<ClientResource>({ method: "GET", path: apiPath(at) });
  return { name: body.client_name ?? body.client_id, etag, values: valuesOf(body) };
}

const editFields: readonly Field<ClientKey>[] = [
  { name: "client_name", label: "client.name", kind: "text" },
  { name: "redirect_uris", label: "client.redirects", kind: "lines" },
  { name: "post_logout_redirect_uris", label: "client.afterLogout", kind: "lines" },
  { name: "scope", label: "client.scope", help: "client.scopeHelp", kind: "text" },
  { name: "audiences", label: "client.audiences", help: "client.audiencesHelp", kind: "lines" },
  { name: "access_token_lifetime", label: "client.lifetime", kind: "text" },
  { name: "skip_consent", label: "client.skipConsent", kind: "check" },
  { name: "require_mfa", label: "client.requireMfa", kind: "check" },
];

function valuesOf(client: ClientResource): Values {
  return {
    client_name: client.client_name ?? "",
    redirect_uris: (client.redirect_uris ?? []).join("\n"),
    post_logout_redirect_uris: (client.post_logout_redirect_uris ?? []).join("\n"),
    scope: client.scope ?? "",
    audiences: (client.audiences ?? []).join("\n"),
    access_token_lifetime: String(client.access_token_lifetime ?? ""),
    skip_consent: client.skip_consent ? "true" : "",
    require_mfa: client.require_mfa ? "true" : "",
  };
}

/** The members of a merge patch: only what the form changes. An empty field removes its member. */
function patchOf(values: Values, found: Found): Record<string, unknown> {
  const changed = changedFields(editFields, found.values ?? {}, values);
  return Object.fromEntries(changed.map(({ name, kind }) => [name, memberOf(name, kind, values[name] ?? "")]));
}

function memberOf(name: string, kind: Field<ClientKey>["kind"], value: string): unknown {
  if (kind === "check") return value === "true";
  if (kind === "lines") return linesOf(value);
  if (value === "") return name === "scope" ? "" : null;
  return name === "access_token_lifetime" ? Number(value) : value;
}

const edit = defineChange<ClientKey>({
  path: `${clientsPath}/:id/edit`,
  scope,
  operations: ["readClient", "updateClient"],
  messages,
  title: "client.edit",
  ends: "client.editEnds",
  submit: "client.save",
  fields: editFields,
  find,
  request: (at, values, found) => ({ method: "PATCH", path: apiPath(at), body: patchOf(values, found) }),
  done: back,
  back,
});

const setStatus = (status: "disabled" | "active") => {
  const name = status === "disabled" ? "disable" : "enable";
  return defineChange<ClientKey>({
    path: `${clientsPath}/:id/${name}`,
    scope,
    operations: ["readClient", "updateClient"],
    messages,
    title: `client.${name}Title`,
    ends: `client.${name}Ends`,
    submit: `client.${name}Submit`,
    ...(status === "disabled" ? { isDangerous: true as const } : {}),
    find,
    request: (at) => ({ method: "PATCH", path: apiPath(at), body: { status } }),
    done: back,
    back,
  });
};

const remove = defineChange<ClientKey>({
  path: `${clientsPath}/:id/delete`,
  scope,
  operations: ["readClient", "deleteClient"],
  messages,
  title: "client.deleteTitle",
  ends: "client.deleteEnds",
  submit: "client.deleteSubmit",
  isDangerous: true,
  find,
  request: (at) => ({ method: "DELETE", path: apiPath(at) }),
  done: () => clientsPath,
  back,
});

/** A secret has no version of its own, and the client's is not meant. */
const findUnversioned = async (at: PageCall<ClientKey>): Promise<Found> => ({ ...(await find(at)), etag: undefined });

const newSecret = defineChange<ClientKey>({
  path: `${clientsPath}/:id/secrets/new`,
  scope,
  operations: ["readClient", "rotateClientSecret"],
  messages,
  title: "client.newSecretTitle",
  ends: "client.newSecretEnds",
  submit: "client.newSecretSubmit",
  fields: [
    { name: "overlap", label: "client.overlap", kind: "choice", options: [["3600"], ["86400"], ["604800"], ["0"]] },
  ],
  find: findUnversioned,
  request: (at, { overlap }) => ({
    method: "POST",
    path: apiPath(at, "/secrets"),
    body: { overlap_seconds: Number(overlap) },
  }),
  done: (at, { body }) => secretView(at, "client.secretOnce", at.parameter("id"), body["client_secret"]),
  back,
});

/** The one page that shows a secret. */
function secretView(at: PageCall<ClientKey>, title: ClientKey, clientId: string, secret: unknown) {
  const { t } = at;
  const text = t(
    secret === undefined
      ? "client.createdPublic"
      : title === "client.secretOnce"
        ? "client.secretOnceText"
        : "client.createdText",
  );
  const children = (
    <>
      <Head title={t(title)} text={text} />
      <Facts
        t={t}
        facts={[
          [t("client.id"), clientId],
          ...(secret === undefined ? [] : [[t("client.secret"), String(secret)] as const]),
        ]}
      />
      <Actions actions={[{ href: clientPath(clientId), text: t("client.back") }]} />
    </>
  );
  return { title: t(title), children };
}

const endSecret = defineChange<ClientKey>({
  path: `${clientsPath}/:id/secrets/:secret/end`,
  scope,
  operations: ["readClient", "deleteClientSecret"],
  messages,
  title: "client.endSecretTitle",
  ends: "client.endSecretEnds",
  submit: "client.endSecretSubmit",
  isDangerous: true,
  find: findUnversioned,
  request: (at) => ({ method: "DELETE", path: apiPath(at, `/secrets/${encodeURIComponent(at.parameter("secret"))}`) }),
  done: back,
  back,
});

const userScopes = "openid profile email offline_access";

/** The registrations of the profiles in docs/clients.md. */
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

const create = defineChange<ClientKey>({
  path: `${clientsPath}/new`,
  scope,
  operations: ["createClient"],
  messages,
  title: "client.createTitle",
  ends: "client.createEnds",
  submit: "client.createSubmit",
  fields: [
    { name: "client_name", label: "client.name", kind: "text", isRequired: true },
    {
      name: "profile",
      label: "client.profile",
      kind: "choice",
      options: [
        ["web", "client.profile.web"],
        ["spa", "client.profile.spa"],
        ["native", "client.profile.native"],
        ["service", "client.profile.service"],
      ],
    },
    { name: "client_id", label: "client.id", help: "client.idHelp", kind: "text" },
    { name: "redirect_uris", label: "client.redirects", kind: "lines" },
    { name: "scope", label: "client.scope", help: "client.scopeHelp", kind: "text" },
    { name: "audiences", label: "client.audiences", help: "client.audiencesHelp", kind: "lines" },
  ],
  find: async () => ({ name: "" }),
  request: (_, values) => ({ method: "POST", path: "/clients", body: registrationOf(values) }),
  done: (at, { body }) => secretView(at, "client.createdTitle", String(body["client_id"]), body["client_secret"]),
  back: () => clientsPath,
});

function registrationOf({
  profile = "",
  client_id: id,
  client_name: name,
  redirect_uris: uris,
  scope: own,
  audiences,
}: Values) {
  const members = Object.hasOwn(profiles, profile) ? profiles[profile as keyof typeof profiles] : profiles.web;
  return {
    ...members,
    client_name: name,
    ...(id ? { client_id: id } : {}),
    ...(uris ? { redirect_uris: linesOf(uris) } : {}),
    ...(own ? { scope: own } : {}),
    ...(audiences ? { audiences: linesOf(audiences) } : {}),
  };
}

export const clientChanges: readonly ConsoleRoute[] = [
  create,
  edit,
  setStatus("disabled"),
  setStatus("active"),
  remove,
  newSecret,
  endSecret,
];
