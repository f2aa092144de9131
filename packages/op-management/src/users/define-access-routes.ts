import type { Stored } from "@edge-op/protocol/encoding/stored-json";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { titleOf } from "../admin/define-record-routes.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import { requireOtherUser, users } from "./user-table.ts";

type Call = AdminCall<unknown, unknown>;

/** A part of a list, in the order of the items' places. */
export interface AccessPage {
  readonly after: string;
  readonly count: number;
  /** Items that ended before this time are not listed. */
  readonly atMs: number;
}

interface AccessKind<Item, Shown extends z.ZodObject> {
  readonly noun: "session" | "consent" | "grant";
  /** The parameter of the path that names an item. */
  readonly key: string;
  readonly missing: RefusalReason;
  /** The name of the items, and a description of what their end ends. */
  readonly words: { readonly list: string; readonly ends: string };
  readonly shown: Shown;
  /** How many items one call ends at most. */
  readonly atOnce: number;
  page(database: D1Database, sub: string, page: AccessPage): Promise<readonly Item[]>;
  find(database: D1Database, sub: string, id: string, atMs: number): Promise<Item | undefined>;
  idOf(item: Item): string;
  /** The position after which a list continues; the id by default. */
  placeOf?(item: Item): string;
  show(item: Item): Stored<z.input<Shown>>;
  /** Ends the items as a confirmed write. A repetition finishes what a failure has left. */
  end(call: Call, sub: string, items: readonly Item[]): Promise<void>;
}

const scope = "admin:users";

const endedSchema = z
  .strictObject({
    ended: z.int().describe("How many this call has ended."),
    more: z.boolean().describe("Whether others are left: repeat the call until it is false."),
  })
  .meta({ id: "Ended", examples: [{ ended: 3, more: false }] });

/**
 * **The routes of what a user's devices and applications have**: list, end one, end all. The audit event comes first, so nothing ends without one.
 * Cost: a list 2 D1 calls; an end 4 D1 calls and those of the kind.
 */
export function defineAccessRoutes<Item, Shown extends z.ZodObject>(
  kind: AccessKind<Item, Shown>,
): readonly AdminRoute[] {
  const { noun, key, words, shown, atOnce } = kind;
  const title = titleOf(noun);
  const plural = `${noun}s`;
  const path = `/users/{sub}/${plural}`;
  const placeOf = (item: Item) => kind.placeOf?.(item) ?? kind.idOf(item);
  const end = async (call: Call, sub: string, items: readonly Item[]) => {
    const detail = { [plural]: items.map((item) => kind.idOf(item)) };
    await commitChange(call, {
      statements: [],
      forget: [],
      event: { action: `user.${noun}_end`, target: sub, detail },
    });
    await kind.end(call, sub, items);
  };
  const list = defineRoute({
    method: "GET",
    path,
    operationId: `list${title}s`,
    summary: words.list,
    scope,
    query: pageQuery,
    response: {
      status: 200,
      description: `A page of ${plural}.`,
      schema: z.strictObject({ [plural]: z.array(shown), next_cursor: nextCursor }).meta({ id: `${title}List` }),
    },
    async handle({ context, parameter, query: { cursor, limit } }) {
      const { DB } = context.env;
      const page = { after: readCursor(cursor), count: limit + 1, atMs: context.arrivedAtMs };
      const { sub } = await users.require(DB, parameter("sub"));
      const { page: items, next } = cutPage(await kind.page(DB, sub, page), limit, placeOf);
      return { body: { [plural]: items.map((item) => kind.show(item)), ...next } };
    },
  });
  const endOne = defineRoute({
    method: "DELETE",
    path: `${path}/{${key}}`,
    operationId: `end${title}`,
    summary: `Ends a ${noun} of a user. ${words.ends} In force everywhere when the call returns.`,
    scope,
    response: { status: 204, description: `The ${noun} has ended.` },
    async handle(call) {
      const { context } = call;
      const { sub } = await requireOtherUser(call);
      const item = await kind.find(context.env.DB, sub, call.parameter(key), context.arrivedAtMs);
      if (item === undefined) throw new OAuthError("not_found", kind.missing);
      await end(call, sub, [item]);
      return { body: undefined };
    },
  });
  const endAll = defineRoute({
    method: "DELETE",
    path,
    operationId: `end${title}s`,
    summary: `Ends the ${plural} of a user, ${atOnce} by one call. ${words.ends} In force everywhere when the call returns.`,
    scope,
    response: { status: 200, description: `The ${plural} have ended.`, schema: endedSchema },
    async handle(call) {
      const { context } = call;
      const { sub } = await requireOtherUser(call);
      const page = { after: "", count: atOnce + 1, atMs: context.arrivedAtMs };
      const found = await kind.page(context.env.DB, sub, page);
      const items = found.slice(0, atOnce);
      if (items.length > 0) await end(call, sub, items);
      return { body: { ended: items.length, more: found.length > items.length } };
    },
  });
  return [list, endOne, endAll];
}
