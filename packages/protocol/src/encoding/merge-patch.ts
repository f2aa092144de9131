import { isJsonObject, type JsonObject } from "./json-object.ts";

/**
 * **JSON Merge Patch**: members that a patch does not name are kept, `null` removes a member, objects merge, other values replace.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7396#section-2
 */
export function applyMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null || value === undefined) merged.delete(name);
    else if (isJsonObject(value)) {
      const known = merged.get(name);
      merged.set(name, applyMergePatch(isJsonObject(known) ? known : {}, value));
    } else merged.set(name, value);
  }
  return Object.fromEntries(merged);
}
