/**
 * **The types of authorization details that a deployment knows** (`AUTHORIZATION_DETAILS_TYPES`): for each type, the form of a request's object and
 * its description for users.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9396#section-5
 */

export interface AuthorizationType {
  /** A JSON Schema (2020-12) of the whole object; absent: any object. A property's `title` is its label on the consent page, `title#de` the one in German. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** By language; shown instead of the type's name. */
  readonly description?: Readonly<Record<string, string>>;
  /** Whether a user who has allowed an object is not asked again for the same one. By default, the user decides each time. */
  readonly remember?: boolean;
}

export type AuthorizationTypes = Readonly<Record<string, AuthorizationType>>;

/** A Worker's variable has at most 5 KB. */
const typesAtMost = 50;

/** Throws an `Error` that names the variable, because it is a mistake of the deployment. */
export function parseAuthorizationTypes(name: string, text: string): AuthorizationTypes {
  const types = requireObject(name, parseJson(name, text));
  if (Object.keys(types).length > typesAtMost) throw new Error(`${name} has more than ${typesAtMost} types`);
  return Object.fromEntries(
    Object.entries(types).map(([type, value]) => [type, readType(`${name}: ${type}`, requireObject(name, value))]),
  );
}

function readType(name: string, value: Readonly<Record<string, unknown>>): AuthorizationType {
  const { schema, description, remember, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Error(`${name} has an unknown member "${unknown}"`);
  if (remember !== undefined && typeof remember !== "boolean")
    throw new Error(`${name}.remember must be true or false`);
  return {
    ...(remember === undefined ? {} : { remember }),
    ...(schema === undefined ? {} : { schema: requireObject(`${name}.schema`, schema) }),
    ...(description === undefined ? {} : { description: readDescription(`${name}.description`, description) }),
  };
}

function readDescription(name: string, value: unknown): Readonly<Record<string, string>> {
  if (typeof value === "string") return { en: value };
  const texts = Object.entries(requireObject(name, value));
  if (!texts.every((pair): pair is [string, string] => typeof pair[1] === "string")) {
    throw new Error(`${name} must be a text, or texts by language`);
  }
  return Object.fromEntries(texts);
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${name} must be a JSON object`, { cause });
  }
}

function requireObject(name: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${name} must be a JSON object`);
  }
  return value as Readonly<Record<string, unknown>>;
}
