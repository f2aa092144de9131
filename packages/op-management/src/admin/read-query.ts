import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { requireValid } from "@edge-op/shared/http/require-valid";
import type * as z from "zod";

/** **Parses a query string** by its schema. Refuses unknown and repeated parameters by name. */
export function readQuery(schema: z.ZodType | undefined, search: URLSearchParams): unknown {
  const values = new Map<string, string>();
  for (const [name, value] of search) {
    if (schema === undefined || values.has(name)) {
      const message = schema === undefined ? "is not a known parameter" : "is given twice";
      const path = name.slice(0, 64);
      throw new OAuthError("invalid_request", "query-invalid", {
        detail: `query: ${message}`,
        description: `${path}: ${message}`,
        fields: [{ path, message }],
      });
    }
    values.set(name, value);
  }
  return schema === undefined ? undefined : requireValid(schema, Object.fromEntries(values));
}
