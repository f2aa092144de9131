import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { findSimilar } from "../console/similar.ts";
import type { ApiDocument, Schema } from "../operations/api-document.ts";

/** The keywords of JSON Schema that the document of the admin API uses. @see https://json-schema.org/draft/2020-12/json-schema-validation */
interface Checked extends Schema {
  readonly additionalProperties?: boolean | Checked;
  readonly propertyNames?: Checked;
  readonly allOf?: readonly Checked[];
  readonly not?: Checked;
  readonly if?: Checked;
  readonly then?: Checked;
  readonly else?: Checked;
  readonly contains?: Checked;
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/**
 * **Why the admin API would refuse a value**, by its schema: a plan finds this before the first change is made. What needs other records is left to
 * the API. `null` removes a member, so it is right everywhere.
 */
export function findProblems(document: ApiDocument, given: Schema, value: unknown, path = ""): readonly string[] {
  if (value === null) return [];
  const schema = dereference(document, given);
  const at = (text: string) => `${path === "" ? "" : `${path}: `}${text}`;
  const problems = (other: Schema | undefined, of: unknown = value, place = path) =>
    other === undefined ? [] : findProblems(document, other, of, place);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) {
    const tried = alternatives
      .map((each) => problems(each))
      .filter((found, index) => found.length === 0 || !isNull(alternatives[index]!));
    const [nearest = []] = tried.toSorted((left, right) => left.length - right.length);
    if (nearest.length > 0) return nearest;
  }
  const own = [
    ...(hasType(schema.type, value) ? [] : [`must be ${[schema.type].flat().join(" or ")}`]),
    ...(schema.enum === undefined || schema.enum.includes(value) ? [] : [`must be one of ${schema.enum.join(", ")}`]),
    ...(schema.const === undefined || schema.const === value ? [] : [`must be ${JSON.stringify(schema.const)}`]),
    ...(schema.not !== undefined && problems(schema.not).length === 0 ? ["is not allowed here"] : []),
    ...ofText(schema, value),
    ...ofNumber(schema, value),
  ].map(at);
  if (own.length > 0) return own;
  const isMet = schema.if === undefined ? undefined : problems(schema.if).length === 0;
  return [
    ...(schema.allOf ?? []).flatMap((each) => problems(each)),
    ...(isMet === undefined ? [] : problems(isMet ? schema.then : schema.else)),
    ...(Array.isArray(value) ? ofList(value) : []),
    ...(isJsonObject(value) ? ofObject(value) : []),
  ];

  function ofList(items: readonly unknown[]): string[] {
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, contains } = schema;
    return [
      ...(items.length < minItems ? [at(`must have at least ${minItems}`)] : []),
      ...(items.length > maxItems ? [at(`must have at most ${maxItems}`)] : []),
      ...(contains !== undefined && !items.some((item) => problems(contains, item).length === 0)
        ? [at("lacks a required item")]
        : []),
      ...items.flatMap((item, index) => problems(schema.items, item, `${path}[${index}]`)),
    ];
  }

  function ofObject(object: JsonObject): string[] {
    const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
    const place = (name: string) => (path === "" ? name : `${path}.${name}`);
    return [
      ...required.filter((name) => !Object.hasOwn(object, name)).map((name) => `${place(name)}: is required`),
      ...Object.entries(object).flatMap(([name, member]) => {
        if (Object.hasOwn(properties, name)) return problems(properties[name], member, place(name));
        if (additionalProperties === false) {
          const [similar] = findSimilar(name, Object.keys(properties));
          return [at(`there is no member "${name}".${similar === undefined ? "" : ` Did you mean ${similar}?`}`)];
        }
        const ofName = problems(propertyNames, name, `${place(name)}: its name`);
        return [
          ...ofName,
          ...(additionalProperties === true ? [] : problems(additionalProperties, member, place(name))),
        ];
      }),
    ];
  }
}

function dereference(document: ApiDocument, schema: Schema): Checked {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : dereference(document, document.components.schemas[name] ?? {});
}

function isNull({ type }: Schema): boolean {
  return type === "null";
}

function hasType(type: Checked["type"], value: unknown): boolean {
  if (type === undefined) return true;
  const actual = Array.isArray(value) ? "array" : typeof value;
  return [type].flat().some((each) => (each === "integer" ? Number.isInteger(value) : each === actual));
}

function ofText(
  { pattern, format, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Checked,
  value: unknown,
): string[] {
  if (typeof value !== "string") return [];
  return [
    ...(value.length < minLength ? [`must have at least ${minLength} characters`] : []),
    ...(value.length > maxLength ? [`must have at most ${maxLength} characters`] : []),
    ...(pattern !== undefined && !new RegExp(pattern, "u").test(value) ? ["has another form than required"] : []),
    ...(format === "uri" && !URL.canParse(value) ? ["must be a URI"] : []),
  ];
}

function ofNumber({ minimum, maximum }: Checked, value: unknown): string[] {
  if (typeof value !== "number") return [];
  return [
    ...(minimum !== undefined && value < minimum ? [`must be at least ${minimum}`] : []),
    ...(maximum !== undefined && value > maximum ? [`must be at most ${maximum}`] : []),
  ];
}
