/** **The OpenAPI document of the admin API**, as far as commands need it. The package contains the one of its release. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** A schema without references. `null` as one of several types is left out: an option cannot be `null`. */
export function resolve(document: ApiDocument, schema: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  if (name !== undefined) return resolve(document, document.components.schemas[name] ?? {});
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives === undefined) return schema;
  const others = alternatives.map((each) => resolve(document, each)).filter(({ type }) => type !== "null");
  const described = schema.description === undefined ? {} : { description: schema.description };
  const [only] = others;
  return others.length === 1 && only !== undefined ? { ...only, ...described } : { ...schema, anyOf: others };
}

/** The schema of a request's or response's JSON. */
export function schemaOf(document: ApiDocument, content: Content | undefined): Schema | undefined {
  const [media] = Object.values(content?.content ?? {});
  return media === undefined ? undefined : resolve(document, media.schema);
}
