import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { Actor } from "../admin/actor.ts";
import type { DirectoryGroup, DirectoryStore, DirectoryUser, Window } from "./directory-store.ts";
import { type FilterColumns, readFilter } from "./filters.ts";
import { enterpriseSchema, groupSchema, userSchema } from "./schema.ts";
import { ScimError } from "./scim-error.ts";

/** A request of a directory: its token has been accepted for this organisation. */
export interface ScimCall {
  readonly context: RequestContext<ManagementEnv>;
  readonly request: ReceivedRequest;
  /** The token, as audit events name it. It has no scope. */
  readonly actor: Actor;
  readonly store: DirectoryStore;
  readonly search: URLSearchParams;
  /** The base of locations: `{issuer}/scim/{org_id}/v2`. */
  readonly base: string;
}

export type Resource = Readonly<Record<string, unknown>> & { readonly id: string; readonly schemas: readonly string[] };

export function versionTag(version: number): string {
  return `W/"${version}"`;
}

/** RFC 7644 §3.14, with versions that are weak. */
export function requireVersion({ request }: ScimCall, version: number): void {
  const given = request.headers.get("if-match");
  if (given === null || given.trim() === "*") return;
  const tags = given.split(",").map((each) => each.trim().replace(/^W\//, ""));
  if (!tags.includes(`"${version}"`)) throw new ScimError(412, "The resource was changed since this version.");
}

function metaOf(
  base: string,
  kind: "User" | "Group",
  id: string,
  { createdAtMs, version }: DirectoryGroup | DirectoryUser,
) {
  return {
    resourceType: kind,
    created: new Date(createdAtMs).toISOString(),
    lastModified: new Date(version).toISOString(),
    location: `${base}/${kind}s/${id}`,
    version: versionTag(version),
  };
}

export function showUser({ base }: ScimCall, user: DirectoryUser, groups: readonly DirectoryGroup[] = []): Resource {
  const { scimId: id, document, active } = user;
  return {
    schemas: [userSchema, ...(document[enterpriseSchema] === undefined ? [] : [enterpriseSchema])],
    id,
    ...document,
    active,
    ...(groups.length > 0 && {
      groups: groups.map(({ groupId: value, displayName: display }) => ({
        ...{ value, display, type: "direct", $ref: `${base}/Groups/${value}` },
      })),
    }),
    meta: metaOf(base, "User", id, user),
  };
}

export function showGroup({ base }: ScimCall, group: DirectoryGroup, members: readonly string[] = []): Resource {
  const { groupId: id, externalId, displayName } = group;
  return {
    schemas: [groupSchema],
    id,
    ...(externalId !== undefined && { externalId }),
    displayName,
    ...(members.length > 0 && {
      members: members.map((value) => ({ value, $ref: `${base}/Users/${value}` })),
    }),
    meta: metaOf(base, "Group", id, group),
  };
}

function namesOf(search: URLSearchParams, parameter: string): readonly string[] | undefined {
  const names = (search.get(parameter) ?? "").toLowerCase().split(",");
  const given = names
    .map((name) => name.trim().replace(/^urn:.*:2\.0:(?:user|group):/, ""))
    .filter((name) => name !== "");
  return given.length === 0 ? undefined : given;
}

/** Whether `attributes` and `excludedAttributes` ask for an attribute (RFC 7644 §3.9). */
export function isAskedFor(search: URLSearchParams, name: string): boolean {
  const lower = name.toLowerCase();
  const wanted = namesOf(search, "attributes");
  const isWanted = wanted === undefined || wanted.some((each) => each === lower || each.startsWith(`${lower}.`));
  return isWanted && !(namesOf(search, "excludedAttributes") ?? []).includes(lower);
}

/** The resource with what is asked for; `id` and `schemas` always. */
export function project({ search }: ScimCall, resource: Resource): Resource {
  const wanted = namesOf(search, "attributes");
  const parts = Object.entries(resource).flatMap(([name, value]): [string, unknown][] => {
    if (name === "id" || name === "schemas") return [[name, value]];
    if (!isAskedFor(search, name)) return [];
    const inner = wanted?.includes(name.toLowerCase()) === false ? partsOf(wanted, name, value) : value;
    return [[name, inner]];
  });
  return Object.fromEntries(parts) as Resource;
}

function partsOf(wanted: readonly string[], name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => partsOf(wanted, name, each));
  const isWanted = ([part]: [string, unknown]) => wanted.includes(`${name}.${part}`.toLowerCase());
  return Object.fromEntries(Object.entries(value as object).filter(isWanted));
}

/** `startIndex` begins with 1; `count` may be 0 (RFC 7644 §3.4.2.4). */
export function readWindow({ search }: ScimCall, columns: FilterColumns, most: number): Window {
  const number = (name: string, otherwise: number) => {
    const value = Number(search.get(name) ?? otherwise);
    if (!Number.isSafeInteger(value)) throw new ScimError(400, `${name} is a number.`, "invalidValue");
    return value;
  };
  return {
    condition: readFilter(search.get("filter"), columns),
    offset: Math.max(number("startIndex", 1), 1) - 1,
    count: Math.min(Math.max(number("count", 100), 0), most),
  };
}

export function listResponse(resources: readonly Resource[], total: number, { offset }: Pick<Window, "offset">) {
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
    totalResults: total,
    startIndex: offset + 1,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
