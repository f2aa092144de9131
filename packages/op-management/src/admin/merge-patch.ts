import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { applyMergePatch } from "@edge-op/protocol/encoding/merge-patch";
import * as z from "zod";

type Path = readonly PropertyKey[];

/** The result of a patch, for validation by a schema. */
export interface PatchResult {
  /** The result without the members that are kept unchanged. */
  readonly merged: JsonObject;
  /** Adds the kept members to the validated ones. */
  keepOthers<Valid extends object>(valid: Valid): Valid;
}

/**
 * **Applies a patch to a record that may have members which `schema` does not know**, such as those of a later release after a rollback. Such a
 * member is kept unless the patch names it, because an administrator is responsible for the patch and not for the stored members.
 */
export function patchStored(schema: z.ZodType, stored: JsonObject, patch: JsonObject): PatchResult {
  const merged = structuredClone(applyMergePatch(stored, patch));
  const kept: { readonly at: Path; readonly name: string; readonly value: unknown }[] = [];
  for (const issue of schema.safeParse(merged).error?.issues ?? []) {
    if (issue.code !== "unrecognized_keys") continue;
    const holder = valueAt(merged, issue.path);
    for (const name of issue.keys) {
      if (!isJsonObject(holder) || isNamedBy(patch, [...issue.path, name])) continue;
      kept.push({ at: issue.path, name, value: holder[name] });
      Reflect.deleteProperty(holder, name);
    }
  }
  return {
    merged,
    keepOthers: (valid) => {
      const whole = kept.length === 0 ? valid : structuredClone(valid);
      for (const { at, name, value } of kept) {
        const holder = valueAt(whole, at);
        if (isJsonObject(holder)) Object.defineProperty(holder, name, { value, enumerable: true, writable: true });
      }
      return whole;
    },
  };
}

function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, step) => (typeof value === "object" && value !== null ? Reflect.get(value, step) : undefined),
    root,
  );
}

/** Whether the patch sets the value at the path: it merges objects, and replaces everything else. */
function isNamedBy(patch: unknown, path: Path): boolean {
  const [step, ...rest] = path;
  if (step === undefined || !isJsonObject(patch)) return true;
  return Object.hasOwn(patch, step) && isNamedBy(patch[String(step)], rest);
}

/** The schema of a patch of a `schema`: every member is optional and, except for the `kept` ones, nullable, at every depth. */
export function mergePatchOf(schema: z.ZodObject, kept: readonly string[] = []): z.ZodObject {
  const members = Object.entries(schema.shape).map(([name, member]) => {
    const patched = patchMember(member as z.ZodType);
    return [name, (kept.includes(name) ? patched : patched.nullable()).optional()];
  });
  return z.strictObject(Object.fromEntries(members));
}

function patchMember(member: z.ZodType): z.ZodType {
  if (member instanceof z.ZodOptional || member instanceof z.ZodExactOptional || member instanceof z.ZodDefault) {
    return patchMember(member.unwrap() as z.ZodType);
  }
  // Also of a record whose keys are listed, a patch names some.
  if (member instanceof z.ZodRecord) return z.partialRecord(member.keyType, (member.valueType as z.ZodType).nullable());
  return member instanceof z.ZodObject ? mergePatchOf(member) : member;
}
