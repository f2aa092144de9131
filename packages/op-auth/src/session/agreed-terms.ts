import type { Browser } from "@edge-op/pages/cookies";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { PageRequest } from "../pages/frame.ts";
import { isKnownBrowser, rememberBrowser, type WayIn } from "./known-browser.ts";

/** The version of the terms of service that a person has agreed to, and when. Earlier ones are in the audit log. */
export interface Agreement {
  readonly version: string;
  readonly atMs: number;
}

interface AgreementRow {
  readonly terms_version: string | null;
  readonly terms_accepted_at_ms: number | null;
}

/** Cost: 1 D1 call. */
export async function findAgreement(database: D1Database, sub: string): Promise<Agreement | undefined> {
  const select = peopleOf(database)
    .prepare("SELECT terms_version, terms_accepted_at_ms FROM users WHERE sub = ?1")
    .bind(sub);
  const row = await queryDatabase(() => select.first<AgreementRow>());
  const { terms_version: version = null, terms_accepted_at_ms: atMs = null } = row ?? {};
  return version === null || atMs === null ? undefined : { version, atMs };
}

/** Changes nothing if the person has agreed to this version. The record that isolates have copies of does not contain it. */
export function saveAgreement(database: D1Database, sub: string, { version, atMs }: Agreement): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      "UPDATE users SET terms_version = ?2, terms_accepted_at_ms = ?3 WHERE sub = ?1 AND terms_version IS NOT ?2",
    )
    .bind(sub, version, atMs);
}

interface Person {
  readonly sub: string;
  /** What was read with a credential or with factors. */
  readonly read: { readonly version: string | undefined } | undefined;
}

/**
 * **The version of the terms that a person has agreed to**, if a version is asked for. A cookie of the browser says so for that version, with a MAC
 * over person, version and browser, so that a session reads nothing. Cost: 0; 1 D1 call in a session whose browser has no such cookie.
 */
export async function agreedTerms(
  at: PageRequest,
  browser: Browser,
  asked: string | undefined,
  { sub, read }: Person,
): Promise<string | undefined> {
  if (asked === undefined) return undefined;
  if (read !== undefined) return read.version;
  const { context, request } = at;
  if (await isKnownBrowser(context, request, browser, agreementOf(sub, asked), "op-terms")) return asked;
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
