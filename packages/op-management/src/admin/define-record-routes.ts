import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import type { Stored } from "@edge-op/protocol/encoding/stored-json";
import * as z from "zod";
import type { Columns } from "./columns.ts";
import { type AdminCall, type AdminRoute, type AdminRouteSpec, defineRoute } from "./define-route.ts";
import {
  cutPage,
  type ListCondition,
  type ListSearch,
  listQuery,
  nextCursor,
  nextOf,
  readCursor,
  rowCondition,
} from "./list-page.ts";
import { mergePatchOf } from "./merge-patch.ts";
import { formatEtag, requireMatch, retryOnConflict } from "./optimistic-concurrency.ts";
import type { BesideRecord, RecordOf, VersionedTable } from "./versioned-table.ts";

export type PatchCall = AdminCall<JsonObject, undefined>;

/** The next version of a record, and the statements that are committed with it. */
export interface RecordPatch<Members extends Columns> extends BesideRecord {
  readonly changed: Partial<RecordOf<Members>>;
}

const incomplete = z
  .literal(true)
  .exactOptional()
  .describe("The search does not know some records yet, which an earlier release has written: search again.");

type Verb = "create" | "list" | "read" | "update" | "remove";
type Beside = Pick<AdminRouteSpec<z.ZodType, z.ZodType, z.ZodType>, "errorCode" | "faultsBeside">;

interface RecordRoutes<
  Members extends Columns,
  Create extends z.ZodObject,
  Shown extends z.ZodObject,
  Created extends z.ZodObject,
> {
  readonly table: VersionedTable<Members>;
  /** The parameter of the path that names a record. */
  readonly key: string;
  readonly scope: AdminRoute["scope"];
  readonly summaries: Readonly<Record<Verb, string>>;
  /** The description of the response after a change; "as it is now" by default. */
  readonly now?: string;
  /** The members that an administrator may write. */
  readonly writable: z.ZodObject;
  readonly createBody: Create;
  readonly shown: Shown;
  /** The schema of the response to a creation, if it has more members. */
  readonly created?: Created;
  /** The conditions that a list may have, one at a time, by the names of their query parameters. */
  readonly conditions?: Readonly<Record<string, ListCondition>>;
  /** In place of a condition. */
  readonly search?: ListSearch;
  /** The error code of a creation and of a patch. */
  readonly errorCode?: Beside["errorCode"];
  readonly faultsBeside?: Readonly<Record<"create" | "update", NonNullable<Beside["faultsBeside"]>>>;
  show(record: RecordOf<Members>): Stored<z.input<Shown>>;
  /** Commits a new record; `shown`: additional members of its response. */
  create(call: AdminCall<z.output<Create>, undefined>): Promise<{
    readonly record: RecordOf<Members>;
    readonly shown?: JsonObject;
  }>;
  /** Called once per request; its result is called for each version to which the patch is applied. */
  patch(call: PatchCall): (known: RecordOf<Members>) => Promise<RecordPatch<Members>>;
  /** The patch before a deletion. If the deletion fails half-way, the record still exists and can be deleted again. */
  readonly ended?: JsonObject;
  /** Returns the statements that are committed with a deletion. */
  remove?(call: PatchCall, record: RecordOf<Members>): Promise<BesideRecord>;
}

/** The noun in operation ids and names of schemas. */
export function titleOf(noun: string): string {
  return `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`;
}

/**
 * **The routes of records in a table**: create, list, read, change by JSON Merge Patch, delete; their OpenAPI; entity tags, pages and repeated
 * attempts. A kind of record declares only its differences. A patch may set `status` but not remove it, because that would silently re-enable a
 * disabled record.
 */
export function defineRecordRoutes<
  Members extends Columns,
  Create extends z.ZodObject,
  Shown extends z.ZodObject,
  Created extends z.ZodObject = Shown,
>(kind: RecordRoutes<Members, Create, Shown, Created>): readonly AdminRoute[] {
  const { table, scope, summaries, shown, show } = kind;
  const { noun } = table;
  const title = titleOf(noun);
  const path = `/${noun}s`;
  const named = `${path}/{${kind.key}}`;
  const respond = (record: RecordOf<Members>) => ({
    body: show(record),
    headers: { ETag: formatEtag(record.updatedAtMs) },
  });
  const requireVersion = async (call: AdminCall<unknown, unknown>): Promise<RecordOf<Members>> => {
    const known = await table.require(call.context.env.DB, call.parameter(kind.key));
    requireMatch(call.ifMatch, formatEtag(known.updatedAtMs));
    return known;
  };
  const applyPatch = (call: PatchCall): Promise<RecordOf<Members>> => {
    const patch = kind.patch(call);
    return retryOnConflict(async () => {
      const known = await requireVersion(call);
      const { changed, detail, ...beside } = await patch(known);
      return table.update(call, known, changed, { ...beside, detail: { fields: Object.keys(call.body), ...detail } });
    });
  };
  const create = defineRoute({
    method: "POST",
    path,
    operationId: `create${title}`,
    summary: summaries.create,
    scope,
    body: kind.createBody,
    response: {
      status: 201,
      description: `The ${noun}.`,
      schema: kind.created ?? shown,
      headers: ["ETag", "Location"],
    },
    ...besideOf(kind, "create"),
    async handle(call) {
      const { record, shown: besides } = await kind.create(call);
      const { body, headers } = respond(record);
      const location = `${call.context.settings.issuer}/admin${path}/${encodeURIComponent(table.keyOf(record))}`;
      return { body: { ...body, ...besides }, headers: { ...headers, Location: location } };
    },
  });
  const list = defineRoute({
    method: "GET",
    path,
    operationId: `list${title}s`,
    summary: summaries.list,
    scope,
    query: listQuery(kind.conditions, kind.search),
    response: {
      status: 200,
      description: `A page of ${noun}s.`,
      schema: z
        .strictObject({ [`${noun}s`]: z.array(shown), next_cursor: nextCursor, ...(kind.search && { incomplete }) })
        .meta({ id: `${title}List` }),
    },
    async handle({ context, query: { cursor, limit, ...given } }) {
      const { search, ...others } = given as { readonly search?: string };
      if (kind.search !== undefined && search !== undefined) {
        const { DB } = context.env;
        const { places, next, isIncomplete } = await kind.search.find(DB, search, {
          after: readCursor(cursor),
          count: limit,
        });
        const found = await table.findAll(
          DB,
          places.map(({ key }) => key),
        );
        const more = { ...(next && nextOf(next)), ...(isIncomplete === true && { incomplete: true }) };
        return { body: { [`${noun}s`]: found.map(show), ...more } };
      }
      const condition = rowCondition(kind.conditions, others);
      const page = { after: readCursor(cursor), count: limit + 1, condition: condition ?? undefined };
      const rows = condition === null ? [] : await table.list(context.env.DB, page);
      const { page: cut, next } = cutPage(rows, limit, ({ place }) => place);
      return { body: { [`${noun}s`]: cut.map(({ record }) => show(record)), ...next } };
    },
  });
  const read = defineRoute({
    method: "GET",
    path: named,
    operationId: `read${title}`,
    summary: summaries.read,
    scope,
    response: { status: 200, description: `The ${noun}.`, schema: shown, headers: ["ETag"] },
    handle: async ({ context, parameter }) => respond(await table.require(context.env.DB, parameter(kind.key))),
  });
  const update = defineRoute({
    method: "PATCH",
    path: named,
    operationId: `update${title}`,
    summary: summaries.update,
    scope,
    preconditions: ["If-Match"],
    body: mergePatchOf(kind.writable, ["status"]).meta({ id: `${title}Patch` }),
    response: { status: 200, description: kind.now ?? `The ${noun} as it is now.`, schema: shown, headers: ["ETag"] },
    ...besideOf(kind, "update"),
    // A patch without members is no change: no version, no event.
    handle: async (call) =>
      respond(Object.keys(call.body).length === 0 ? await requireVersion(call) : await applyPatch(call)),
  });
  const remove = defineRoute({
    method: "DELETE",
    path: named,
    operationId: `delete${title}`,
    summary: summaries.remove,
    scope,
    preconditions: ["If-Match"],
    response: { status: 204, description: `The ${noun} is deleted.` },
    async handle(call) {
      const { ended, remove: besides } = kind;
      const asPatch = { ...call, body: ended ?? {} };
      const record = ended === undefined ? await requireVersion(call) : await applyPatch(asPatch);
      await table.remove(call, record, await besides?.(asPatch, record));
      return { body: undefined };
    },
  });
  return [create, list, read, update, remove];
}

function besideOf(
  {
    errorCode,
    faultsBeside,
  }: Pick<RecordRoutes<Columns, z.ZodObject, z.ZodObject, z.ZodObject>, "errorCode" | "faultsBeside">,
  verb: "create" | "update",
): Beside {
  return { ...(errorCode && { errorCode }), ...(faultsBeside && { faultsBeside: faultsBeside[verb] }) };
}
