/** **A user as a file of another product has them**, in the form of `POST /admin/import/users`. The provider validates it. */
export interface SourceUser {
  readonly line: Readonly<Record<string, unknown>> & { readonly sub?: unknown };
  /** Data of the user that is not imported, as sentences. */
  readonly leftOut: readonly string[];
}

/** A client in the form of `POST /admin/clients`. */
export interface SourceClient {
  readonly client: Readonly<Record<string, unknown>>;
  readonly leftOut: readonly string[];
}

export interface ReaderOptions {
  /** The upstream providers of this deployment, by their names there. */
  readonly upstreams: ReadonlyMap<string, string>;
  readonly withRoles: boolean;
  /** A second file: password hashes of Auth0, hash parameters of Firebase. */
  readonly beside: string | undefined;
}

export type UserReader = (path: string, options: ReaderOptions) => AsyncIterable<SourceUser>;

type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member that is a list of objects; anything else is an empty list. */
export function objectsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Without members that are absent. */
export function compact(members: Json): Json {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
}

/** Seconds since the epoch of a date as text, or of milliseconds as number or text. */
export function secondsOf(value: unknown): number | undefined {
  const isNumeric = typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value));
  const ms = isNumeric ? Number(value) : typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isFinite(ms) ? Math.floor(ms / 1000) : undefined;
}

/** Only https: other products accept any text as a picture. */
export function pictureOf(value: unknown): string | undefined {
  return typeof value === "string" && /^https:\/\//.test(value) ? value : undefined;
}

/** The claims of an address. An address that nobody verified stays unverified. */
export function addressClaims(email: unknown, isVerified: unknown): Json {
  const address = textOf(email);
  const verified = isVerified === true || isVerified === 1 || /^true$/i.test(String(isVerified));
  return address === undefined ? {} : { email: address, email_verified: verified };
}
