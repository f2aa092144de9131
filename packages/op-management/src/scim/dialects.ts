/**
 * **The forms in which directories send PATCH**, and the one in which it is applied: operations of one attribute each, with names as the schema has
 * them. A form that is not in this file is refused as `invalidSyntax` or `invalidPath`, and the list of refusals shows it without its values.
 *
 * | Form | Sent by |
 * | --- | --- |
 * | `op` in any case; names in any case | Entra without `aadOptscim062020` |
 * | `"True"`, `"False"` for a boolean (schema.ts) | Entra without the flag, JumpCloud |
 * | `replace` without `path`, value `{active: false}` | Okta, OneLogin |
 * | without `path`, names of the value are paths: `name.givenName`, `urn:…:User:department` | Entra without the flag |
 * | `emails[type eq "work"].value` when there is none: it is created | Entra |
 * | `remove` of `members` with `value: [{value}]` in place of a filter | Entra without the flag, OneLogin |
 * | one object in place of a list | JumpCloud, authentik |
 * | the manager as a string; an attribute of the extension under the URN of the core schema | Entra, Okta |
 * | no `Operations`, or an empty list | authentik: nothing changes |
 *
 * @see https://learn.microsoft.com/entra/identity/app-provisioning/application-provisioning-config-problem-scim-compatibility
 */

import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { parseEqualities } from "./filters.ts";
import { type Attribute, type Attributes, enterpriseSchema, findAttribute, memberOf } from "./schema.ts";
import { ScimError } from "./scim-error.ts";

/** Where an operation applies. */
export interface Target {
  /** The complex attribute of the extension that contains the attribute. */
  readonly extension?: string;
  readonly name: string;
  readonly attribute: Attribute;
  /** Which values of a list: those that have all of these. */
  readonly where?: readonly (readonly [part: string, value: string | boolean])[];
  /** The part of the attribute, or of each of these values; the second one is a part of `manager`. */
  readonly parts: readonly string[];
}

export interface Operation {
  readonly op: "add" | "replace" | "remove";
  readonly target: Target;
  readonly value: unknown;
}

const mostOperations = 1_000;
const longestPath = 1_000;

/** Reads the body of a PATCH. */
export function readOperations(attributes: Attributes, body: JsonObject): readonly Operation[] {
  const given = memberOf(body, "Operations") ?? [];
  if (!Array.isArray(given)) throw new ScimError(400, "Operations is no list.", "invalidSyntax");
  if (given.length > mostOperations) throw new ScimError(400, "There are too many operations.", "tooMany");
  return given.flatMap((each: unknown) => readOperation(attributes, each));
}

function readOperation(attributes: Attributes, each: unknown): readonly Operation[] {
  const [op, path, value] = isJsonObject(each) ? ["op", "path", "value"].map((name) => memberOf(each, name)) : [];
  const verb = typeof op === "string" ? op.toLowerCase() : "";
  if (verb !== "add" && verb !== "replace" && verb !== "remove") {
    throw new ScimError(400, "op is add, replace or remove.", "invalidSyntax");
  }
  if (typeof path === "string" && path !== "") {
    const extension = path.toLowerCase() === enterpriseSchema.toLowerCase();
    // The whole extension: its members one by one, unless it is removed.
    if (!extension || verb === "remove" || !isJsonObject(value)) {
      return [{ op: verb, target: readPath(attributes, path), value }];
    }
    return readOperation(attributes, { op: verb, value });
  }
  if (verb === "remove") throw new ScimError(400, "remove needs a path.", "noTarget");
  if (!isJsonObject(value)) throw new ScimError(400, "Without path the value is an object.", "invalidSyntax");
  return Object.entries(value).flatMap(([name, one]): readonly Operation[] => {
    const lower = name.toLowerCase();
    // What every resource has, and nobody changes.
    if (lower === "schemas" || lower === "id" || lower === "meta" || lower === "password") return [];
    if (lower === enterpriseSchema.toLowerCase() && isJsonObject(one)) {
      return readOperation(attributes, { op: verb, value: one });
    }
    return [{ op: verb, target: readPath(attributes, name), value: one }];
  });
}

/** `attribute`, `attribute[filter]`, each with `.part`, after the URN of a schema or without it. */
const pathPattern = /^([\w$-]+)(?:\[(.*)\])?((?:\.[\w$-]+){0,2})$/s;
const schemaPrefix = /^urn:ietf:params:scim:schemas:[\w:.]*?:2\.0:(?:User|Group):/i;

function readPath(attributes: Attributes, path: string): Target {
  if (path.length > longestPath) throw pathUnknown();
  if (path.toLowerCase() === enterpriseSchema.toLowerCase()) {
    return { name: enterpriseSchema, attribute: attributes[enterpriseSchema] ?? { kind: "complex" }, parts: [] };
  }
  const [, name = "", filter, rest = ""] = pathPattern.exec(path.replace(schemaPrefix, "")) ?? [];
  const own = findAttribute(attributes, name);
  const extended = findAttribute(attributes[enterpriseSchema]?.parts ?? {}, name);
  const [found, extension] = own === undefined ? [extended, enterpriseSchema] : [own, undefined];
  if (found === undefined) throw pathUnknown();
  const attribute = found[1];
  const parts: string[] = [];
  let holder: Attribute = attribute;
  for (const part of rest.split(".").slice(1)) {
    const inner = findAttribute(holder.parts ?? {}, part);
    if (inner === undefined) throw pathUnknown();
    parts.push(inner[0]);
    holder = inner[1];
  }
  const target = { name: found[0], attribute, parts, ...(extension !== undefined && { extension }) };
  if (filter === undefined) return target;
  if (attribute.kind !== "list") throw pathUnknown();
  const where = parseEqualities(filter, "invalidPath").map(([part, value]) => {
    const inner = findAttribute(attribute.parts ?? {}, part);
    if (inner === undefined) throw pathUnknown();
    return [inner[0], inner[1].kind === "boolean" ? String(value).toLowerCase() === "true" : String(value)] as const;
  });
  return { ...target, where };
}

function pathUnknown(): ScimError {
  return new ScimError(400, "A path names no attribute that is stored, or has an unknown form.", "invalidPath");
}
