import { isJsonObject } from "./json-object.ts";

/** Whether a value has the form that its readers rely on. */
export type TypeGuard<Value> = (value: unknown) => value is Value;

/**
 * **Reads JSON that this provider stored.** It is checked for the members that every value has, so that a row which something else wrote fails where
 * it is read, not as a wrong decision later. Members that may be absent, and values of members, were valid when they were written: a later rule does
 * not count.
 */
export function readStored<Value>(what: string, text: string, isValue: TypeGuard<Value>): Value {
  return requireForm(what, JSON.parse(text), isValue);
}

/** The same of values that are not JSON, such as rows. */
export function requireForm<Value>(what: string, value: unknown, isValue: TypeGuard<Value>): Value {
  if (!isValue(value)) throw new Error(`what is stored as ${what} has another form`);
  return value;
}

/** A text of any value: a later release may know others. */
export function isText<Value extends string>(value: unknown): value is Value {
  return typeof value === "string";
}

export function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

export function isFlag(value: unknown): value is boolean {
  return typeof value === "boolean";
}

export function listOf<Item>(isItem: TypeGuard<Item>): TypeGuard<readonly Item[]> {
  return (value): value is readonly Item[] => Array.isArray(value) && value.every(isItem);
}

export function recordOf<Item>(isItem: TypeGuard<Item>): TypeGuard<Readonly<Record<string, Item>>> {
  return (value): value is Readonly<Record<string, Item>> => isJsonObject(value) && Object.values(value).every(isItem);
}

/** JSON has no `undefined`: such a member is absent. */
type RequiredName<Value> = { [Name in keyof Value]-?: undefined extends Value[Name] ? never : Name }[keyof Value];

/** An object with at least these members, which are all that a value must have. */
export function objectOf<Value extends object>(
  members: {
    readonly [Name in RequiredName<Value>]: TypeGuard<Value[Name]>;
  },
): TypeGuard<Value> {
  const forms = Object.entries<TypeGuard<unknown>>(members);
  return (value): value is Value => isJsonObject(value) && forms.every(([name, isMember]) => isMember(value[name]));
}

type StoredKey = JsonWebKey & { readonly kid?: string; readonly x5c?: string[] };

/** **A record as Workers read it**: what its schema made of it, read-only; its keys (JWK) as the platform types them. */
export type Stored<Value> = Value extends { readonly kty: string }
  ? StoredKey
  : Value extends readonly (infer Item)[]
    ? readonly Stored<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: Stored<Value[Name]> }
      : Value;
