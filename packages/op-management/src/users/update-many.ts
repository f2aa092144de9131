import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { isText, listOf, objectOf, readStored, requireForm } from "@edge-op/protocol/encoding/stored-json";
import { type FieldError, OAuthError } from "@edge-op/protocol/oauth/errors";
import { recordAdminEvent } from "@edge-op/shared/audit/admin-event";
import type { ControlChange } from "@edge-op/shared/control/commit-control-change";
import { validate } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { attributeValuesSchema } from "@edge-op/shared/users/attribute-schema";
import { type AttributeDocument, isAttributeDocument, type UserAttributes } from "@edge-op/shared/users/attributes";
import { claimsSchema } from "@edge-op/shared/users/claims-schema";
import { makeWordsOf } from "@edge-op/shared/users/search-index";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { mergePatchOf } from "../admin/merge-patch.ts";
import {
  formatEtag,
  mayBeConflict,
  nextVersion,
  requireMatch,
  retryOnConflict,
} from "../admin/optimistic-concurrency.ts";
import { requireValues } from "../attributes/attribute-document.ts";
import { refuseGreaterRoles, requireAuthorityOverRoles } from "../roles/role-authority.ts";
import { rbacNames } from "../roles/role-schema.ts";
import { applyPatch } from "./patch-user.ts";
import { type StoredUser, undeclaredName, users } from "./user-table.ts";

const mostLines = 200;

const patchSchema = mergePatchOf(
  z.strictObject({
    claims: claimsSchema.omit({ email: true, email_verified: true }),
    attributes: attributeValuesSchema,
    roles: rbacNames,
    groups: rbacNames,
  }),
);

const lineSchema = patchSchema.extend({
  sub: z.string().max(255),
  if_match: z.string().max(64).exactOptional().describe("The ETag of the user, to which alone the line applies."),
});

/** A line that is no change of a user: the others apply. */
class InvalidLine {
  readonly input: unknown;

  constructor(input: unknown) {
    this.input = input;
  }
}

const anyLine = lineSchema.meta({ id: "UserUpdate" }).catch((context) => {
  // The description of the API asks for a default, without a line.
  return ((context as typeof context | undefined) === undefined ? undefined : new InvalidLine(context.value)) as never;
});

const resultSchema = z
  .strictObject({
    result: z.enum(["updated", "unchanged", "refused"]),
    fields: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .exactOptional()
      .describe("Why the line is refused."),
  })
  .meta({ id: "UpdateResult", examples: [{ result: "updated" }] });

interface Line {
  readonly sub: string;
  readonly patch: JsonObject;
}

/** What becomes of a line: the user before and after it, or why not. */
type Decided =
  | { readonly kind: "changed"; readonly known: StoredUser; readonly changed: StoredUser; readonly fields: string[] }
  | { readonly kind: "unchanged" }
  | { readonly kind: "refused"; readonly faults: readonly FieldError[] };

function refused(path: string, message: string): Decided {
  return { kind: "refused", faults: [{ path, message }] };
}

type Call = Pick<AdminCall<unknown, unknown>, "context" | "actor">;

/**
 * **Changes many users, each line by itself**: only on top of the version that was read, all of the request in one transaction, each user with an
 * event. What a person is told of, or signed out by, is not changed so: addresses, usernames, passwords and the status. Cost: 3 D1 calls, and one
 * control change of all users.
 */
async function updateMany(call: Call, lines: readonly unknown[]): Promise<readonly Decided[]> {
  const { DB } = call.context.env;
  const read = lines.map(readLine);
  const subs = read.flatMap((line) => ("kind" in line ? [] : [line.sub]));
  return retryOnConflict(async () => {
    const [found, declared] = await Promise.all([users.findAll(DB, [...new Set(subs)]), readDeclared(DB)]);
    const known = new Map(found.map((user) => [user.sub, user]));
    const seen = new Set<string>();
    const decided = read.map((line): Decided => {
      if ("kind" in line) return line;
      const user = known.get(line.sub);
      if (user === undefined) return refused("sub", "is no user's");
      if (line.sub === call.actor.sub) return refused("sub", "is your own: change yourself alone");
      if (seen.has(line.sub)) return refused("sub", "is that of an earlier line");
      seen.add(line.sub);
      return decide(user, line.patch, declared);
    });
    return (await commit(call, decided)) ? decided : undefined;
  });
}

function readLine(line: unknown): Line | Extract<Decided, { kind: "refused" }> {
  const input = line instanceof InvalidLine ? line.input : line;
  const result = validate(lineSchema, input);
  if (!result.valid) return { kind: "refused", faults: result.fields };
  const { sub, ...patch } = result.data as JsonObject & { readonly sub: string };
  return { sub, patch };
}

function decide(known: StoredUser, line: JsonObject, declared: ReadonlyMap<string, AttributeDocument>): Decided {
  const { if_match: ifMatch, ...patch } = line;
  const fields = Object.keys(patch);
  if (fields.length === 0) return { kind: "unchanged" };
  const changed = applyPatch(known, patch, nextVersion(known.updatedAtMs, nowMs()));
  const written = Object.entries(isJsonObject(patch["attributes"]) ? patch["attributes"] : {});
  try {
    requireMatch(typeof ifMatch === "string" ? ifMatch : undefined, formatEtag(known.updatedAtMs));
    const given = written.filter(([, value]) => value !== null);
    requireValues(Object.fromEntries(given) as UserAttributes, declared, changed.attributes);
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const isOther = error.code === "precondition_failed";
    return isOther
      ? refused("if_match", "is not the version of the user")
      : { kind: "refused", faults: error.fields ?? [] };
  }
  return { kind: "changed", known, changed, fields };
}

/** False if a user was changed meanwhile. */
async function commit(call: Call, decided: readonly Decided[]): Promise<boolean> {
  const { env } = call.context;
  const changes = decided.flatMap((each) => (each.kind === "changed" ? [each] : []));
  if (changes.length === 0) return true;
  const all = (list: "roles" | "groups") => [
    ...new Set(changes.flatMap(({ known, changed }) => [...known[list], ...changed[list]])),
  ];
  await requireAuthorityOverRoles(call, all("roles"), all("groups"));
  const hasRoles = changes.filter(({ fields }) => fields.includes("roles") || fields.includes("groups"));
  const given = (list: "roles" | "groups") => hasRoles.flatMap(({ changed }) => changed[list]);
  const events = changes.map(({ known: { sub }, fields }) => ({
    action: "user.update",
    target: sub,
    detail: { fields },
  }));
  const forget = changes.flatMap(({ known: { sub }, fields }): ControlChange[] => [
    { kind: "user", id: sub },
    ...(fields.includes("roles") || fields.includes("groups") ? [{ kind: "rbac", id: sub } as const] : []),
  ]);
  const { clientId, sub: actor } = call.actor;
  try {
    await commitChange(call, {
      statements: [
        ...writeAll(env.DB, changes),
        ...makeWordsOf(
          env.DB,
          ...changes.filter(({ fields }) => fields.includes("claims")).map((each) => each.changed),
        ),
        ...(hasRoles.length === 0 ? [] : [refuseGreaterRoles(call, given("roles"), given("groups"))]),
        ...events.slice(0, -1).map((event) => recordAdminEvent(call.context, { ...event, clientId, actor })),
      ],
      forget,
      event: events.at(-1)!,
    });
    return true;
  } catch (error) {
    if (mayBeConflict(error) && (await hasOtherVersion(env.DB, changes))) return false;
    throw error;
  }
}

type Change = Extract<Decided, { kind: "changed" }>;

/** A document that is NULL fails the transaction: the version is another, or an attribute is not declared any more. */
function writeAll(database: D1Database, changes: readonly Change[]): D1PreparedStatement[] {
  const rows = changes.map(({ known, changed, fields }) => ({
    ...{ sub: known.sub, known: known.updatedAtMs, next: nextVersion(known.updatedAtMs, nowMs()) },
    ...{ claims: JSON.stringify(changed.claims), attributes: JSON.stringify(changed.attributes) },
    ...{
      roles: fields.includes("roles") ? changed.roles : null,
      groups: fields.includes("groups") ? changed.groups : null,
    },
  }));
  const text = JSON.stringify(rows);
  const isDeclared = `NOT EXISTS (${undeclaredName.replace("?2", "j.value ->> 'attributes'")})`;
  const lists = ["roles", "groups"].flatMap((list) => {
    const [table, column] = list === "roles" ? ["user_roles", "role"] : ["user_groups", "group_name"];
    const named = `json_each(?1) j WHERE j.value ->> '${list}' IS NOT NULL`;
    return [
      `DELETE FROM ${table} WHERE sub IN (SELECT j.value ->> 'sub' FROM ${named})`,
      `INSERT INTO ${table} (sub, ${column}) SELECT j.value ->> 'sub', l.value FROM json_each(?1) j, json_each(j.value -> '${list}') l
         WHERE j.value ->> '${list}' IS NOT NULL`,
    ];
  });
  return [
    `UPDATE users SET claims = iif(updated_at_ms = j.value ->> 'known' AND ${isDeclared}, j.value ->> 'claims', NULL),
       attributes = j.value ->> 'attributes', updated_at_ms = j.value ->> 'next'
       FROM json_each(?1) j WHERE users.sub = j.value ->> 'sub'`,
    ...lists,
  ].map((sql) => peopleOf(database).prepare(sql).bind(text));
}

async function hasOtherVersion(database: D1Database, changes: readonly Change[]): Promise<boolean> {
  const found = await users.findAll(
    database,
    changes.map(({ known }) => known.sub),
  );
  const versions = new Map(found.map(({ sub, updatedAtMs }) => [sub, updatedAtMs]));
  return changes.some(({ known }) => versions.get(known.sub) !== known.updatedAtMs);
}

const areAttributes = listOf(
  objectOf<{ readonly name: string; readonly document: string }>({ name: isText, document: isText }),
);

async function readDeclared(database: D1Database): Promise<ReadonlyMap<string, AttributeDocument>> {
  const { results } = await queryDatabase(() => database.prepare("SELECT name, document FROM attributes").all());
  const rows = requireForm("attributes", results, areAttributes);
  return new Map(rows.map(({ name, document }) => [name, readStored("attribute", document, isAttributeDocument)]));
}

const updateUsers = defineRoute({
  method: "POST",
  path: "/update/users",
  operationId: "updateUsers",
  summary:
    "Changes up to 200 users by JSON Merge Patch, each line by itself: claims but the address, attributes, roles and groups. In force everywhere when the call returns.",
  scope: "admin:users",
  body: z.strictObject({ users: z.array(anyLine).min(1).max(mostLines) }).meta({ id: "UserUpdates" }),
  response: {
    status: 200,
    description: "The result of each line.",
    schema: z
      .strictObject({
        ...{ updated: z.int(), unchanged: z.int(), refused: z.int() },
        results: z.array(resultSchema).describe("In the order of the lines."),
      })
      .meta({
        id: "UpdateResults",
        examples: [{ updated: 1, unchanged: 0, refused: 0, results: [{ result: "updated" }] }],
      }),
  },
  async handle(call) {
    const decided = await updateMany(call, call.body.users);
    const results = decided.map((each) =>
      each.kind === "refused"
        ? ({ result: "refused", fields: [...each.faults] } as const)
        : ({ result: each.kind === "changed" ? "updated" : "unchanged" } as const),
    );
    const count = (result: (typeof results)[number]["result"]) => results.filter((one) => one.result === result).length;
    return { body: { updated: count("updated"), unchanged: count("unchanged"), refused: count("refused"), results } };
  },
});

export const updateManyRoutes: readonly AdminRoute[] = [updateUsers];
