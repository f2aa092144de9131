import { isJsonObject, type JsonObject } from "@edge-op/shared/validation/json-object";
import * as z from "zod";

/**
 * **JSON Merge Patch**: members that a patch does not name stay, `null` removes one, objects merge, other values replace.
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

/** The schema of a patch of a `schema`: every member optional and nullable, at every depth. */
export function mergePatchOf(schema: z.ZodObject): z.ZodObject {
  const members = Object.entries(schema.shape).map(([name, member]) => [name, patchMember(member as z.ZodType)]);
  return z.strictObject(Object.fromEntries(members));
}

function patchMember(member: z.ZodType): z.ZodType {
  if (member instanceof z.ZodOptional || member instanceof z.ZodDefault)
    return patchMember(member.unwrap() as z.ZodType);
  return (member instanceof z.ZodObject ? mergePatchOf(member) : member).nullable().optional();
}
