import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import { loggedUri, loggedValue } from "@edge-op/protocol/oauth/errors";
import { isPrivateUse, redirectUriFault } from "@edge-op/protocol/oauth/uris";
import type { RuleSettings } from "./client-rules.ts";

/**
 * The members that a registration or document sets. Many libraries send an empty text or list, or `null`, for what is not set (RFC 7591 §3.1: such a
 * member is omitted); none of these values means anything for an optional member.
 */
export function givenMembers(document: JsonObject): JsonObject {
  const isGiven = (value: unknown) => value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined && isGiven(value)));
}

/** Other scope values come from resources that admit the client (ADR 45). */
const ownScopes: readonly unknown[] = ["openid", "profile", "email", "address", "phone", "offline_access"];

/** A log line names at most so many values. */
const mostLogged = 10;

/**
 * **The metadata of a client that no administrator registers**, as far as they can be used. Such a client sends the same redirect URIs and scope to
 * every provider, so those that cannot be used here are left out, and named in `dropped`, for the log. If no redirect URI can be used, all of them
 * stay, and the rules refuse them. A private-use scheme makes the client native: only a native application has one. Pure.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1
 * @see https://www.rfc-editor.org/rfc/rfc8252#section-7.1
 */
export function ownMetadata(
  document: JsonObject,
  { privateUseSchemes }: Pick<RuleSettings, "privateUseSchemes">,
): { readonly metadata: JsonObject; readonly dropped: readonly string[] } {
  const dropped: string[] = [];
  const isNative = listOf(document["redirect_uris"]).some((uri) => isPrivateUse(uri, privateUseSchemes));
  const type = isNative ? "native" : document["application_type"];
  const metadata: Record<string, unknown> = { ...document, scope: ownScope(document["scope"], dropped) };
  if (type !== undefined) metadata["application_type"] = type;
  for (const name of ["redirect_uris", "post_logout_redirect_uris"]) {
    const given = listOf(document[name]);
    const faultOf = (uri: string) => redirectUriFault(uri, type === "native" ? "native" : "web", privateUseSchemes);
    const usable = [...new Set(given)].filter((uri) => faultOf(uri) === undefined);
    if (usable.length === 0) continue;
    metadata[name] = usable;
    const others = given.filter((uri) => !usable.includes(uri));
    dropped.push(...others.map((uri) => `${name} ${loggedUri(uri)}: ${faultOf(uri)}`));
  }
  return { metadata, dropped: dropped.slice(0, mostLogged) };
}

/** The requested scope, limited to values that concern people; all of these if none is requested. */
function ownScope(asked: unknown, dropped: string[]): string {
  if (typeof asked !== "string") return ownScopes.join(" ");
  const values = [...new Set(asked.split(" "))].filter((value) => value !== "");
  const others = values.filter((value) => !ownScopes.includes(value));
  dropped.push(...others.map((value) => `scope ${loggedValue(value)}: only a resource gives it`));
  return values.filter((value) => ownScopes.includes(value)).join(" ");
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
