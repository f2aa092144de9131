type StoredKey = JsonWebKey & { readonly kid?: string; readonly x5c?: string[] };

/** **A record as Workers read it**: what its schema made of it, read-only; its keys (JWK) as the platform types them. */
export type Stored<Value> = Value extends { readonly kty: string }
  ? StoredKey
  : Value extends readonly (infer Item)[]
    ? readonly Stored<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: Stored<Value[Name]> }
      : Value;
