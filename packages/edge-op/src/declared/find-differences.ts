import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { type ApiDocument, resolve, type Schema } from "../operations/api-document.ts";

export interface Difference {
  /** `token_exchange.modes`. */
  readonly path: string;
  readonly from: unknown;
  readonly to: unknown;
}

/**
 * **Where a record differs from what is wanted.** Objects are compared by the members that are wanted (RFC 7396); lists as a whole, with the defaults
 * of their items from the schema, because a list is replaced as a whole: an item that says less would allow more.
 */
export function findDifferences(
  document: ApiDocument,
  given: Schema,
  actual: unknown,
  wanted: unknown,
  path = "",
): readonly Difference[] {
  const schema = resolve(document, given);
  if (isJsonObject(wanted) && (actual === undefined || isJsonObject(actual))) {
    return Object.entries(wanted).flatMap(([member, value]) => {
      const place = path === "" ? member : `${path}.${member}`;
      return findDifferences(document, schema.properties?.[member] ?? {}, actual?.[member], value, place);
    });
  }
  const isEqual =
    wanted === null ? isAbsent(schema, actual) : canonical(complete(document, schema, wanted)) === canonical(actual);
  return isEqual ? [] : [{ path, from: actual, to: wanted }];
}

/** A member that always has a value has its default when it is removed. */
function isAbsent({ default: fallback }: Schema, actual: unknown): boolean {
  return actual === undefined || (fallback !== undefined && canonical(fallback) === canonical(actual));
}

/** The value with the defaults of the schema. */
function complete(document: ApiDocument, given: Schema, value: unknown): unknown {
  const schema = resolve(document, given);
  if (Array.isArray(value)) return value.map((item: unknown) => complete(document, schema.items ?? {}, item));
  if (!isJsonObject(value)) return value;
  const defaults = Object.entries(schema.properties ?? {}).flatMap(([name, member]): [string, unknown][] => {
    const { default: fallback } = resolve(document, member);
    return fallback === undefined ? [] : [[name, fallback]];
  });
  const own = Object.entries(value).map(([name, item]) => [
    name,
    complete(document, schema.properties?.[name] ?? {}, item),
  ]);
  return { ...Object.fromEntries(defaults), ...Object.fromEntries(own) };
}

/** A text that is the same for equal values, whatever the order of their members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? "undefined";
  const members = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join(",")}}`;
}
