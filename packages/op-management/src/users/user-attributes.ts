import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { type AttributeDocument, isAttributeDocument, type UserAttributes } from "@edge-op/shared/users/attributes";
import { requireValues } from "../attributes/attribute-document.ts";
import { undeclaredName, users } from "./user-table.ts";

/**
 * **Checks the attributes that a request writes**, against the declarations as they are now, and returns the statements that refuse the change if one
 * of them is deleted meanwhile. `written`: what the request names; `all`: what the user then has. Cost: 1 D1 call; none if nothing is written.
 */
export async function keepAttributes(
  database: D1Database,
  sub: string,
  written: UserAttributes,
  all: UserAttributes,
): Promise<readonly D1PreparedStatement[]> {
  const names = Object.keys(written);
  if (names.length === 0) return [];
  const { results } = await queryDatabase(() =>
    database
      .prepare("SELECT name, document FROM attributes WHERE name IN (SELECT value FROM json_each(?1))")
      .bind(JSON.stringify(names))
      .all<{ readonly name: string; readonly document: string }>(),
  );
  const declared = new Map(results.map(({ name, document }) => [name, readDocument(document)]));
  requireValues(written, declared, all);
  return [users.refuseIf(database, sub, `EXISTS (${undeclaredName})`, JSON.stringify(written))];
}

function readDocument(text: string): AttributeDocument {
  return readStored("attribute", text, isAttributeDocument);
}
