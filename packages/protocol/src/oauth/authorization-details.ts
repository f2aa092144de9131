import { listOf, readStored } from "../encoding/stored-json.ts";
import { OAuthError } from "./errors.ts";
import type { RefusalReason } from "./refusal-reasons.ts";

/** Maximum length of the details, which become part of codes, refresh families and access tokens. */
const longestDetails = 4096;
const mostDetails = 16;

/**
 * **Authorization details** (RFC 9396): the permitted access of a client, in more detail than a scope. Each is an object with a `type`; five members
 * have a meaning for every type, others only for their type.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9396#section-2
 */
export interface AuthorizationDetail {
  readonly type: string;
  readonly [member: string]: unknown;
}

export type AuthorizationDetails = readonly AuthorizationDetail[];

/** Details as codes and refresh families store them: their canonical JSON. */
export type DetailsText = string;

export function formatDetails(details: AuthorizationDetails | undefined): DetailsText | undefined {
  return details && canonicalJson(details);
}

export function readDetails(text: DetailsText | undefined): AuthorizationDetails | undefined {
  return text === undefined ? undefined : readStored("authorization details", text, areDetails);
}

const areDetails = listOf(isDetail);

/** Members that are sets of values, for every type (§2.2). */
const setMembers: readonly string[] = ["locations", "actions", "datatypes", "privileges"];

function refusal(reason: RefusalReason, description = "The authorization_details are malformed."): OAuthError {
  return new OAuthError("invalid_authorization_details", reason, { description });
}

/** Reads the parameter; `undefined` if it is absent. Its types and their schemas are not checked here. */
export function parseAuthorizationDetails(text: string | undefined): AuthorizationDetails | undefined {
  if (text === undefined) return undefined;
  if (text.length > longestDetails) throw refusal("details-too-long");
  const value = parseJson(text);
  if (!Array.isArray(value) || value.length === 0) throw refusal("details-malformed");
  if (value.length > mostDetails) throw refusal("details-too-many");
  if (!value.every(isDetail)) throw refusal("details-malformed");
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refusal("details-malformed");
  }
}

function isDetail(value: unknown): value is AuthorizationDetail {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const members = value as Readonly<Record<string, unknown>>;
  const { type, identifier } = members;
  const isText = (each: unknown) => typeof each === "string" && each !== "";
  return (
    isText(type) &&
    (identifier === undefined || isText(identifier)) &&
    setMembers.every((name) => {
      const set = members[name];
      return set === undefined || (Array.isArray(set) && set.length > 0 && set.every(isText));
    })
  );
}

/**
 * Whether `granted` covers the requested object: of the same type, with the same members and the same values, except that a set of §2.2 may have
 * fewer of them. An omitted member could mean everything, so it is not covered; neither is a member that was not granted.
 */
function covers(granted: AuthorizationDetail, requested: AuthorizationDetail): boolean {
  const names = Object.keys(granted);
  if (names.length !== Object.keys(requested).length) return false;
  return names.every((name) => {
    if (!Object.hasOwn(requested, name)) return false;
    const [held, asked] = [granted[name], requested[name]];
    if (setMembers.includes(name) && Array.isArray(held) && Array.isArray(asked)) {
      return asked.every((value) => held.includes(value));
    }
    return canonicalJson(held) === canonicalJson(asked);
  });
}

/** The reason why an object refuses to redeem or refresh for the requested details; `undefined` if it does not. */
export function refuseDetails(
  granted: DetailsText | undefined,
  requested: DetailsText | undefined,
): RefusalReason | undefined {
  const isCovered = requested === undefined || coversDetails(readDetails(granted), readDetails(requested) ?? []);
  return isCovered ? undefined : "details-not-granted";
}

/** Whether each requested object is covered by a granted one (§6.1, §7.1). */
function coversDetails(granted: AuthorizationDetails | undefined, requested: AuthorizationDetails): boolean {
  return requested.every((each) => granted?.some((held) => covers(held, each)) ?? false);
}

/**
 * The details of a token: the requested ones, which must be covered, else all granted ones; in both cases limited to types that the client is
 * registered for now. `undefined` if none is left or none was granted.
 */
export function narrowDetails(
  granted: AuthorizationDetails | undefined,
  requested: AuthorizationDetails | undefined,
  registeredTypes: readonly string[] | undefined,
): AuthorizationDetails | undefined {
  if (requested !== undefined && !coversDetails(granted, requested)) {
    throw refusal("details-not-granted", "The authorization_details exceed the granted ones.");
  }
  const kept = (requested ?? granted)?.filter(({ type }) => registeredTypes?.includes(type));
  return kept?.length ? kept : undefined;
}

/** Canonical JSON with sorted members, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${canonicalJson(each)}`).join()}}`;
}
