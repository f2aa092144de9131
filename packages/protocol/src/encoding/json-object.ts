/** **A JSON object** whose members are not validated yet. */
export type JsonObject = { readonly [name: string]: unknown };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `undefined` for text that is not JSON, and for any other JSON value. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** **The value at a JSON Pointer**; `undefined` where there is none (RFC 6901 §4). A pointer leads through objects alone. */
export function valueAt(document: JsonObject, pointer: string): unknown {
  const names = pointer.split("/").slice(1);
  return names.reduce<unknown>((value, part) => {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }, document);
}

/** **The names of a table**, typed and in the order of its rows: for tables that are keyed by a protocol value. */
export function namesOf<Table extends object>(table: Table): readonly (keyof Table & string)[] {
  return Object.keys(table) as (keyof Table & string)[];
}
