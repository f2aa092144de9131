import type { Browser } from "@edge-op/pages/cookies";
import { findAgreement } from "@edge-op/shared/users/terms";
import type { PageRequest } from "../pages/frame.ts";
import { isKnownBrowser, rememberBrowser, type WayIn } from "../session/known-browser.ts";
import type { Policy } from "../step/step.ts";

interface Person {
  readonly sub: string;
  /** What was read with a credential or with factors. */
  readonly read: { readonly version: string | undefined } | undefined;
}

/**
 * **The version of the terms that a person has agreed to**, if the policy names one. A cookie of the browser says so for the version in force, with a
 * MAC over person, version and browser, so that a session reads nothing. Cost: 0; 1 D1 call in a session whose browser has no such cookie.
 */
export async function agreedTerms(
  at: PageRequest,
  browser: Browser,
  { terms }: Pick<Policy, "terms">,
  { sub, read }: Person,
): Promise<string | undefined> {
  if (terms === undefined) return undefined;
  if (read !== undefined) return read.version;
  const { context, request } = at;
  if (await isKnownBrowser(context, request, browser, agreementOf(sub, terms), "op-terms")) return terms;
  return (await findAgreement(context.env.DB, sub))?.version;
}

/** The `Set-Cookie` value by which a browser knows that the person has agreed. */
export function rememberTerms(
  { context, request }: PageRequest,
  browser: Browser,
  sub: string,
  version: string,
): Promise<string> {
  return rememberBrowser(context, request, browser, agreementOf(sub, version), "op-terms");
}

function agreementOf(sub: string, version: string): WayIn {
  return `terms ${version}\n${sub}`;
}
