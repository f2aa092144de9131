import type { UserResource } from "../api/resources.ts";
import { defineChange, type Found } from "../serve/define-change.tsx";
import { changedFields, type Field, linesOf, type Values } from "../serve/fields.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";
import { type UserKey, userMessages } from "./messages.ts";
import { userPath, usersPath } from "./user-paths.ts";

const scope = "admin:users";
const messages = userMessages;

const apiPath = (at: PageCall<UserKey>, below = "") => `/users/${encodeURIComponent(at.parameter("id"))}${below}`;
const back = (at: PageCall<UserKey>) => userPath(at.parameter("id"));

async function find(at: PageCall<UserKey>): Promise<Found> {
  const { body, etag } = await at.api.send<UserResource>({ method: "GET", path: apiPath(at) });
  return { name: body.username, etag, values: valuesOf(body) };
}

/** For what has no version: the user's own is not meant. */
const findUnversioned = async (at: PageCall<UserKey>): Promise<Found> => ({ ...(await find(at)), etag: undefined });

const editFields: readonly Field<UserKey>[] = [
  { name: "username", label: "user.username", kind: "text", isRequired: true },
  { name: "name", label: "user.name", kind: "text" },
  { name: "email", label: "user.email", kind: "text" },
  { name: "roles", label: "user.roles", kind: "lines" },
  { name: "groups", label: "user.groups", kind: "lines" },
];

function valuesOf({ username, claims, roles, groups }: UserResource): Values {
  return {
    username,
    name: claims.name ?? "",
    email: claims.email ?? "",
    roles: roles.join("\n"),
    groups: groups.join("\n"),
  };
}

function patchOf(values: Values, found: Found): Record<string, unknown> {
  const names = changedFields(editFields, found.values ?? {}, values).map(({ name }) => name);
  const claims = Object.fromEntries(
    names.filter((name) => name === "name" || name === "email").map((name) => [name, values[name] || null]),
  );
  return {
    ...(names.includes("username") ? { username: values["username"] } : {}),
    ...(Object.keys(claims).length === 0 ? {} : { claims }),
    ...(names.includes("roles") ? { roles: linesOf(values["roles"]) } : {}),
    ...(names.includes("groups") ? { groups: linesOf(values["groups"]) } : {}),
  };
}

const edit = defineChange<UserKey>({
  path: `${usersPath}/:id/edit`,
  scope,
  operations: ["readUser", "updateUser"],
  messages,
  title: "user.edit",
  ends: "user.editEnds",
  submit: "user.save",
  fields: editFields,
  find,
  request: (at, values, found) => ({ method: "PATCH", path: apiPath(at), body: patchOf(values, found) }),
  done: back,
  back,
});

const setStatus = (name: "suspend" | "release") =>
  defineChange<UserKey>({
    path: `${usersPath}/:id/${name}`,
    scope,
    operations: ["readUser", "updateUser"],
    messages,
    title: `user.${name}Title`,
    ends: `user.${name}Ends`,
    submit: `user.${name}Submit`,
    ...(name === "suspend" ? { isDangerous: true as const } : {}),
    find,
    request: (at) => ({
      method: "PATCH",
      path: apiPath(at),
      body: { status: name === "suspend" ? "suspended" : "active" },
    }),
    done: back,
    back,
  });

/** A change that ends something of a user. `name` is the part of its texts. */
function ending(
  name: `end${"Session" | "Consent" | "Grant"}${"" | "s"}` | "removeFactor",
  page: string,
  operation: string,
  below: (at: PageCall<UserKey>) => string,
): ConsoleRoute {
  return defineChange<UserKey>({
    path: `${usersPath}/:id/${page}`,
    scope,
    operations: ["readUser", operation],
    messages,
    title: `user.${name}Title`,
    ends: `user.${name}Ends`,
    submit: `user.${name}Submit`,
    isDangerous: true,
    find: findUnversioned,
    request: (at) => ({ method: "DELETE", path: apiPath(at, below(at)) }),
    done: back,
    back,
  });
}

const named = (kind: string) => (at: PageCall<UserKey>) => `/${kind}/${encodeURIComponent(at.parameter("one"))}`;

export const userChanges: readonly ConsoleRoute[] = [
  edit,
  setStatus("suspend"),
  setStatus("release"),
  ending("endSession", "sessions/:one/end", "endSession", named("sessions")),
  ending("endSessions", "end-sessions", "endSessions", () => "/sessions"),
  ending("endConsent", "consents/:one/end", "endConsent", named("consents")),
  ending("endConsents", "end-consents", "endConsents", () => "/consents"),
  ending("endGrant", "grants/:one/end", "endGrant", named("grants")),
  ending("endGrants", "end-grants", "endGrants", () => "/grants"),
  ending("removeFactor", "factors/:one/end", "removeFactor", named("factors")),
];
