import { decodeBase64Url, encodeBase64Url, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import * as z from "zod";

/** **Pages of a list, ordered by id**: a cursor is the last id of the previous page, opaque to the caller. */
export const pageQuery = z.strictObject({
  cursor: z.string().max(4096).optional().describe("`next_cursor` of the page before."),
  limit: z.coerce.number().int().min(1).max(200).default(50).describe("Resources of a page."),
});

export const nextCursor = z.string().optional().describe("Present when there is another page.");

/** The id after which a page begins; the empty string precedes every id. */
export function readCursor(cursor: string | undefined): string {
  if (cursor === undefined) return "";
  const bytes = decodeBase64Url(cursor);
  if (bytes === undefined) throw invalidCursor();
  return new TextDecoder().decode(bytes);
}

export function invalidCursor(): Error {
  return invalidFields([{ path: "cursor", message: "is not a cursor of this list" }]);
}

/** `rows` contains one more row than the page if there is another page. */
export function cutPage<Row>(rows: readonly Row[], limit: number, id: (row: Row) => string) {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { page, next: more ? nextOf(id(last)) : {} };
}

/** The cursor of the page after a place. */
export function nextOf(place: string) {
  return { next_cursor: encodeBase64Url(encodeUtf8(place)) };
}
