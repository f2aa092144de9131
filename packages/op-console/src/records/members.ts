import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { type Field, linesOf, parseJson, type Values } from "../serve/fields.tsx";

/** A field of a record. Its name is that of the member, below another member with a dot (`claims.email`). */
export interface RecordField extends Field {
  /** The form that has it; both by default. */
  readonly only?: "creation" | "change";
  /** The kinds of record that have it; all by default. */
  readonly of?: readonly string[];
  /** Without text: a list is empty and another member absent, unless it is the other way round. */
  readonly withoutText?: "absent" | "empty";
  /** The member as text, and the text as the member of `record`, for fields that are of no kind's form. */
  read?(member: unknown): string;
  write?(text: string, record: object): unknown;
}

function memberAt(record: object, name: string): unknown {
  return name
    .split(".")
    .reduce<unknown>((holder, step) => (isJsonObject(holder) ? holder[step] : undefined), { ...record });
}

export function valuesOf(fields: readonly RecordField[], record: object): Values {
  return Object.fromEntries(
    fields.map((field) => {
      const member = memberAt(record, field.name);
      return [field.name, field.read?.(member) ?? textOf(field.kind, member)];
    }),
  );
}

function textOf(kind: Field["kind"], member: unknown): string {
  if (member === undefined || member === null || kind === "secret") return "";
  if (kind === "check") return member === true ? "true" : "";
  if (kind === "json") return JSON.stringify(member, null, 2);
  if (kind === "pairs") {
    return Object.entries(member)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n");
  }
  return Array.isArray(member) ? member.join("\n") : String(member);
}

/** A line as a name and a value. A name may have colons; the separator has a space after it. */
export function pairOf(line: string): readonly [name: string, value: string] {
  const at = line.indexOf(": ");
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 2).trim()];
}

/** The members that the values of a form are. `record`: the one that the form is about. */
export function membersOf(fields: readonly RecordField[], values: Values, record: object = {}): JsonObject {
  return fields.reduce<JsonObject>((members, field) => {
    const text = values[field.name] ?? "";
    const member = field.write === undefined ? memberOf(field, text) : field.write(text, record);
    return member === undefined ? members : withMember(members, field.name.split("."), member);
  }, {});
}

function memberOf({ kind, withoutText }: RecordField, text: string): unknown {
  if (kind === "check") return text === "true";
  const isList = kind === "lines" || kind === "pairs";
  if (text === "") {
    if ((withoutText ?? (isList ? "empty" : "absent")) === "absent") return undefined;
    return kind === "lines" ? [] : kind === "pairs" ? {} : "";
  }
  if (kind === "lines") return linesOf(text);
  if (kind === "pairs") return Object.fromEntries(linesOf(text).map(pairOf));
  if (kind === "json") return parseJson(text);
  // A text that is no number is refused by the admin API, which names the member.
  return kind === "number" && Number.isFinite(Number(text)) ? Number(text) : text;
}

function withMember(members: JsonObject, [step = "", ...rest]: readonly string[], member: unknown): JsonObject {
  if (rest.length === 0) return { ...members, [step]: member };
  const holder = members[step];
  return { ...members, [step]: withMember(isJsonObject(holder) ? holder : {}, rest, member) };
}

/** The merge patch (RFC 7396) that makes the one of the other: a member that is gone is `null`, at any depth. */
export function patchBetween(before: JsonObject, after: JsonObject): JsonObject {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names].flatMap((name) => {
      const [from, to] = [before[name], after[name]];
      if (JSON.stringify(from) === JSON.stringify(to)) return [];
      if (isJsonObject(from) && isJsonObject(to)) return [[name, patchBetween(from, to)]];
      return [[name, to ?? null]];
    }),
  );
}
