import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import type { Operation, Target } from "./dialects.ts";
import { type Attribute, type Document, emptyDocument, invalidValue, readValue } from "./schema.ts";

/** **Applies operations to a document**, in their order. A refused one throws, and the document that was read is unchanged (S6). Pure. */
export function applyOperations(known: Document, operations: readonly Operation[]): Document {
  // Own members only, and no prototype at any level.
  const document = copyOf(known) as Document;
  for (const { op, target, value } of operations) {
    if (op === "remove") remove(document, target, value);
    else put(document, target, value, op);
  }
  return document;
}

function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.assign(emptyDocument(), Object.fromEntries(Object.entries(value).map(([k, v]) => [k, copyOf(v)])));
}

function holderOf(document: Document, { extension }: Target): Document {
  if (extension === undefined) return document;
  document[extension] ??= emptyDocument();
  return document[extension] as Document;
}

function drop(document: Document, target: Target): void {
  const holder = holderOf(document, target);
  delete holder[target.name];
  if (target.extension !== undefined && Object.keys(holder).length === 0) delete document[target.extension];
}

const listOf = (holder: Document, name: string) => (holder[name] ?? []) as readonly Document[];

function matches(element: Document, { where = [] }: Target): boolean {
  return where.every(([part, value]) => {
    const held = element[part];
    if (typeof value === "boolean") return (held ?? false) === value;
    return typeof held === "string" && held.toLowerCase() === value.toLowerCase();
  });
}

function remove(document: Document, target: Target, value: unknown): void {
  const holder = holderOf(document, target);
  const { name, attribute, parts, where } = target;
  if (attribute.kind === "list") {
    const named = value === undefined || value === null ? undefined : readValue(attribute, value, name);
    const values = new Set(((named ?? []) as readonly Document[]).map((each) => each["value"]));
    const isNamed = (each: Document) =>
      named === undefined || where !== undefined ? matches(each, target) : values.has(each["value"]);
    const left = listOf(holder, name).flatMap((each) => {
      if (!isNamed(each)) return [each];
      if (parts.length === 0) return [];
      const { [parts[0]!]: _removed, ...others } = each;
      return Object.keys(others).length === 0 ? [] : [Object.assign(emptyDocument(), others)];
    });
    if (left.length > 0) holder[name] = left;
    else drop(document, target);
    return;
  }
  if (parts.length > 0) {
    const path = [name, ...parts];
    const last = path.pop()!;
    const inner = path.reduce<unknown>((at, part) => (isJsonObject(at) ? at[part] : undefined), holder);
    if (isJsonObject(inner)) delete (inner as Document)[last];
    const own = holder[name];
    if (!isJsonObject(own) || Object.keys(own).length > 0) return;
  }
  drop(document, target);
}

function put(document: Document, target: Target, raw: unknown, op: "add" | "replace"): void {
  const { name, attribute, parts } = target;
  const value = readValue(attributeAt(attribute, parts), raw, [name, ...parts].join("."));
  // null, or nothing, for an attribute that is replaced: RFC 7643 §2.5 makes it unassigned.
  if (value === undefined) {
    if (op === "replace") remove(document, target, undefined);
    return;
  }
  const holder = holderOf(document, target);
  if (attribute.kind === "list") holder[name] = putInList(listOf(holder, name), target, value, op);
  else if (parts.length > 0) setAt(holder, [name, ...parts], value);
  else if (attribute.kind === "complex") holder[name] = Object.assign(emptyDocument(), holder[name], value);
  else holder[name] = value;
}

function attributeAt(attribute: Attribute, parts: readonly string[]): Attribute {
  return parts.reduce((at, part) => at.parts![part]!, attribute);
}

function setAt(holder: Document, path: readonly string[], value: unknown): void {
  const last = path.at(-1)!;
  const inner = path.slice(0, -1).reduce<Document>((at, part) => {
    at[part] ??= emptyDocument();
    return at[part] as Document;
  }, holder);
  const known = inner[last];
  inner[last] = isJsonObject(value) && isJsonObject(known) ? Object.assign(emptyDocument(), known, value) : value;
}

function putInList(
  list: readonly Document[],
  target: Target,
  value: unknown,
  op: "add" | "replace",
): readonly Document[] {
  const { where, parts, name, attribute } = target;
  if (where === undefined && parts.length === 0) {
    const given = value as readonly Document[];
    if (op === "replace") return onePrimary(given, given);
    const same = (one: Document, other: Document) => one["value"] === other["value"] && one["type"] === other["type"];
    const kept = list.filter((each) => !given.some((other) => other["value"] !== undefined && same(each, other)));
    return onePrimary([...kept, ...given], given);
  }
  // A value for elements: a whole one, or one of its parts.
  if (parts.length === 0 && (value as readonly Document[]).length !== 1) throw invalidValue(name, "has one value");
  const changes = parts.length === 0 ? (value as readonly Document[])[0]! : { [parts[0]!]: value };
  const found = list.filter((each) => matches(each, target));
  const created = Object.fromEntries([...(where ?? []), ...Object.entries(changes)]);
  const changed = found.map((each) => Object.assign(emptyDocument(), each, changes));
  const added = found.length === 0 ? [readValue(attribute, created, name)].flat() : changed;
  const result = list.map((each) => changed[found.indexOf(each)] ?? each);
  const whole = found.length === 0 ? [...list, ...(added as Document[])] : result;
  return onePrimary(whole, "primary" in changes || found.length === 0 ? (added as Document[]) : []);
}

/** RFC 7643 §2.4: at most one value is the primary one; a new one replaces that of before. */
function onePrimary(list: readonly Document[], newer: readonly Document[]): readonly Document[] {
  const chosen = newer.findLast((each) => each["primary"] === true) ?? list.find((each) => each["primary"] === true);
  return list.map((each) =>
    each["primary"] === true && each !== chosen ? Object.assign(emptyDocument(), each, { primary: false }) : each,
  );
}
