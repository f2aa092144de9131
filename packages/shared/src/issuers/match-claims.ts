import type { JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import { matchesGlob } from "./glob.ts";
import type { ClaimRule } from "./trusted-issuer.ts";

/**
 * **Whether a claim satisfies a rule.** Values are compared with their types: a number never equals its text, a list never matches a rule for one
 * value, and only own members of an object count, so that a claim of one form cannot pass for another.
 */
export function refuseClaim(claims: JwtClaims, name: string, rule: ClaimRule): string | undefined {
  const value = claimAt(claims, name);
  if (value === undefined) return `claim ${name} is missing`;
  return matchesClaim(value, rule) ? undefined : `claim ${name} does not match ${describeRule(rule)}`;
}

function matchesClaim(value: unknown, rule: ClaimRule): boolean {
  if ("exact" in rule) return value === rule.exact;
  if ("one_of" in rule) return rule.one_of.some((allowed) => value === allowed);
  if ("contains" in rule) return Array.isArray(value) && value.includes(rule.contains);
  if (typeof value !== "string") return false;
  return "prefix" in rule ? value.startsWith(rule.prefix) : matchesGlob(rule.glob, value);
}

function describeRule(rule: ClaimRule): string {
  return JSON.stringify(rule);
}

/** A claim by its name, or a nested member by a JSON pointer (RFC 6901 §4). */
export function claimAt(claims: JwtClaims, name: string): unknown {
  if (!name.startsWith("/")) return ownMember(claims, name);
  let value: unknown = claims;
  for (const token of name.slice(1).split("/")) {
    value = ownMember(value, token.replaceAll("~1", "/").replaceAll("~0", "~"));
  }
  return value;
}

/** Reads members of objects only: a rule cannot name members of a list. */
function ownMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
    return undefined;
  return (value as JwtClaims)[name];
}
