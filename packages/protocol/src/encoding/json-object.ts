/** **A JSON object** whose members are not validated yet. */
export type JsonObject = { readonly [name: string]: unknown };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `undefined` for text that is not JSON, and for any other JSON value. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
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
