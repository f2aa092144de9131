import type { Option, OptionValues } from "../console/command.ts";
import { usageFailure } from "../console/failure.ts";
import { type ApiDocument, resolve, type Schema } from "./api-document.ts";

/** **Members of a JSON body as options**: `redirect_uris` is `--redirect-uris`, and an object is JSON. */
export function bodyOptions(document: ApiDocument, body: Schema): readonly Option[] {
  return Object.entries(membersOf(document, body)).map(([member, schema]) => optionFor(member, schema, document));
}

export function membersOf(document: ApiDocument, body: Schema): Readonly<Record<string, Schema>> {
  return Object.fromEntries(
    Object.entries(body.properties ?? {}).map(([member, schema]) => [member, resolve(document, schema)]),
  );
}

export function optionName(member: string): string {
  return member.replaceAll("_", "-").toLowerCase();
}

const secretMembers = ["token", "password", "client_secret"];

/** The option for a value of a schema. */
export function optionFor(member: string, given: Schema, document: ApiDocument): Option {
  const schema = resolve(document, given);
  const named = {
    name: optionName(member),
    description: firstParagraph(schema.description ?? given.description ?? ""),
  };
  if (schema.enum?.every((value) => typeof value === "string")) {
    return { ...named, kind: "text", choices: schema.enum };
  }
  switch (schema.type) {
    case "string":
      return { ...named, kind: secretMembers.includes(member) ? "secret" : "text" };
    case "integer":
    case "number":
      return { ...named, kind: "number" };
    case "boolean":
      return { ...named, kind: "flag", negatable: true };
    case "array": {
      const items = schema.items === undefined ? {} : resolve(document, schema.items);
      return { ...named, kind: items.type === "string" ? "list" : "json" };
    }
    default:
      return { ...named, kind: "json", ...(allowsText(schema) ? { orText: true as const } : {}) };
  }
}

function allowsText({ anyOf = [] }: Schema): boolean {
  return anyOf.some(({ type, const: value }) => type === "string" || typeof value === "string");
}

function firstParagraph(text: string): string {
  return text.split("\n\n")[0]!.replaceAll("\n", " ");
}

/** The members of a file, overridden by options; `--unset` sets members to `null`, which removes them (RFC 7396). */
export function buildBody(
  members: readonly string[],
  options: OptionValues,
  file: unknown,
  unset: readonly string[],
): Readonly<Record<string, unknown>> {
  if (file !== undefined && (typeof file !== "object" || file === null || Array.isArray(file))) {
    throw usageFailure("--file must contain one object.");
  }
  const given = members.flatMap((member): [string, unknown][] => {
    const value = options[optionName(member)];
    return value === undefined ? [] : [[member, value]];
  });
  const removed = unset.map((name): [string, unknown] => {
    const member = members.find((known) => known === name || optionName(known) === name);
    if (member === undefined) throw usageFailure(`--unset: there is no member "${name}".`);
    return [member, null];
  });
  return { ...file, ...Object.fromEntries([...given, ...removed]) };
}
