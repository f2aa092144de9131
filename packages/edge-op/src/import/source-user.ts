import type { SourceForm } from "./read-records.ts";

export type Json = Readonly<Record<string, unknown>>;

/** **What a record of another product becomes**: a line of `POST /admin/import/users`, which the provider validates; or nothing, with the reason. */
export type ReadUser =
  | {
      readonly kind: "user";
      readonly user: Json;
      /** Data of the user that is not imported. */
      readonly leftOut: readonly string[];
    }
  | { readonly kind: "refused" | "leftOut"; readonly reason: string };

/** A client in the form of `POST /admin/clients`. */
export interface SourceClient {
  readonly client: Json;
  readonly leftOut: readonly string[];
  /** Why it is not imported. */
  readonly reason?: string;
}

export interface ReaderOptions {
  /** The upstream providers of this deployment, by their names there. */
  readonly upstreams: ReadonlyMap<string, string>;
  readonly withRoles: boolean;
  /** A second file: password hashes of Auth0, hash parameters of Firebase. */
  readonly beside: string | undefined;
  readonly withoutUnusableHashes: boolean;
}

export type ToUser = (record: Json) => ReadUser;

/** A record that cannot be read, beside those of users. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly fault?: string;
}

export interface Beside {
  /** The rows of `tables`, by the name of their list. */
  rowsOf(table: string): readonly Json[];
  /** A record of the second file that cannot be read. */
  report(fault: Fault): void;
  readonly path: string;
}

/** **A product whose users can be read.** A reader decides about one record at a time, and needs to expect anything in it. */
export interface UserReader extends SourceForm {
  /** A record that is none: an object around lists that it does not have. */
  isContainer?(record: Json): boolean;
  open(options: ReaderOptions, beside: Beside): ToUser | Promise<ToUser>;
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member that is an object; anything else is an empty one. */
export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

/** A member that is a list of objects; anything else is an empty list. */
export function objectsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The value of a text of JSON, as CSV and databases have it; `undefined` if it is none. */
export function parsedText(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return undefined;
  }
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** An id as text; some products have numbers. */
export function idOf(value: unknown): string | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) ? String(value) : textOf(value);
}

/** A value for a message: never a part of an object. */
export function wordOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value).slice(0, 100)
    : typeof value;
}

/** In JSON, in CSV and in databases. */
export function isTrue(value: unknown): boolean {
  return value === true || value === 1 || (typeof value === "string" && /^(true|t|1|yes)$/i.test(value));
}

/** Whether there is anything in it. */
export function hasContent(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === "{}" || value === "[]") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

/** Without members that are absent. */
export function compact(members: Json): Json {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
}

const lastSecond = 4_102_444_800;

/** Seconds since the epoch of a date as text, or of milliseconds as number or text. A time that cannot be is left out. */
export function secondsOf(value: unknown): number | undefined {
  const isNumeric = typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value));
  const ms = isNumeric ? Number(value) : typeof value === "string" ? Date.parse(value) : Number.NaN;
  const seconds = Math.floor(ms / 1000);
  return seconds >= 0 && seconds <= lastSecond ? seconds : undefined;
}

/** Only https: other products accept any text as a picture. */
export function pictureOf(value: unknown): string | undefined {
  return typeof value === "string" && /^https:\/\//.test(value) ? value : undefined;
}

/** The claims of an address. An address that nobody verified stays unverified. */
export function addressClaims(email: unknown, isVerified: unknown): Json {
  const address = textOf(email);
  return address === undefined ? {} : { email: address, email_verified: isTrue(isVerified) };
}

export function phoneClaims(phone: unknown, isVerified: unknown): Json {
  const number = textOf(phone);
  return number === undefined ? {} : { phone_number: number, phone_number_verified: isTrue(isVerified) };
}

/** Given and family name, and both as one unless there is a name for display. */
export function nameClaims(given: unknown, family: unknown, shown?: unknown): Json {
  const [first, last] = [textOf(given), textOf(family)];
  const both = [first, last].filter((part) => part !== undefined).join(" ");
  return compact({ name: textOf(shown) ?? textOf(both), given_name: first, family_name: last });
}

/** An identity of an upstream provider, whose name there is the first that `upstreams` has. */
export function identityOf(
  { upstreams }: ReaderOptions,
  [provider, ...others]: readonly unknown[],
  subject: unknown,
  label?: unknown,
): Json {
  const names = [provider, ...others].map(wordOf);
  const known = names.find((name) => upstreams.has(name));
  const upstream = known === undefined ? wordOf(provider) : upstreams.get(known);
  return compact({ upstream_id: upstream, subject: idOf(subject) ?? "", label: textOf(label) });
}

/** The parts of a secret as an authenticator app has them in its QR code; `undefined` unless they are the usual ones. */
export function appOfUrl(url: unknown): Json | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { searchParams: parameters } = new URL(url);
  const secret = textOf(parameters.get("secret"));
  const isUsual =
    (parameters.get("algorithm") ?? "SHA1") === "SHA1" &&
    (parameters.get("digits") ?? "6") === "6" &&
    (parameters.get("period") ?? "30") === "30";
  return isUsual && secret !== undefined ? { secret } : undefined;
}
