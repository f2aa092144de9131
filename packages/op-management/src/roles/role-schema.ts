/** **The names of roles, groups and permissions.** */

import * as z from "zod";

export const rbacNamePattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

const nameRule =
  "must be 1 to 128 letters, digits, dots, colons, hyphens or underscores, and begin with a letter or digit";
const mostValues = 200;

function distinct(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}

/** Names of roles or groups. */
export const rbacNames = z
  .array(z.string().regex(rbacNamePattern, nameRule))
  .max(mostValues)
  .refine(distinct, "must not repeat a value")
  .meta({ uniqueItems: true });

/** RFC 9068 §2.2.3.1 does not define their form; here it is that of a scope value. */
export const permissions = z
  .array(
    z
      .string()
      .max(128)
      .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "must be printable ASCII without space, quote or backslash"),
  )
  .max(mostValues)
  .refine(distinct, "must not repeat a value")
  .meta({ uniqueItems: true });
