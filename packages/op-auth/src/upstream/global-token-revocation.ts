import { isJsonObject, parseJsonObject } from "@edge-op/protocol/encoding/json-object";
import type { DecodedJwt } from "@edge-op/protocol/jwt/decode-claims";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { resourceError } from "@edge-op/shared/callers/require-access-token";
import { controlPlane } from "@edge-op/shared/control/commit-control-change";
import { controlCallMs } from "@edge-op/shared/control/control-plane-rpc";
import { settle } from "@edge-op/shared/control/settle";
import { noStore } from "@edge-op/shared/http/json-response";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import { insertKeys, type UpstreamEnding } from "@edge-op/shared/sessions/upstream-statements";
import { callObject } from "@edge-op/shared/storage/call-object";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import type { PageRequest } from "../pages/frame.ts";
import { verifyMessage } from "./backchannel-logout.ts";
import type { IdentityKey } from "./identity-store.ts";
import { isTrustedDomain, upstreamKinds } from "./kinds.ts";
import { type ExpectedMessage, isName, type RevocationClaims, validateRevocationToken } from "./logout-token.ts";
import { keyOf, rememberedMs, type StatedBy } from "./statement-keys.ts";

/**
 * **`POST /upstream/{id}/global-token-revocation`**: an upstream provider asks to end everything of one person who has an identity there: sessions,
 * also by other means, and grants, also with offline access. They are refused everywhere when the response is sent; so is a sign-in that began
 * before. Nothing else changes. 204; 404 for a person who has no identity there; 401 for a bearer token that is not valid, or was for somebody else;
 * 503 if a store or the provider's keys cannot be reached, and a repetition then completes it.
 *
 * Cost warm: 2 D1 calls, then 1 object call; 1 fetch each for metadata and keys that are not held. Calls that follow one another: 3.
 *
 * @see https://datatracker.ietf.org/doc/draft-parecki-oauth-global-token-revocation/
 */
export async function globalTokenRevocation(at: PageRequest, upstreamId: string): Promise<Response> {
  const { context, isolate, request } = at;
  const { DB } = context.env;
  const [, token] = /^Bearer +([\w.-]+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  if (token === undefined) throw refuse("no bearer token");
  // Anybody may send one, and each costs a verification.
  isolate.rateShield.countFailedAuthentication(context, request);
  const endpoint = `${context.settings.issuer}/upstream/${upstreamId}/global-token-revocation`;
  const validate = (decoded: DecodedJwt, expected: ExpectedMessage) =>
    validateRevocationToken(decoded, { ...expected, endpoint });
  const { upstream, claims } = await settle(context, isolate, async () => {
    const found = await isolate.upstreams.find(context, upstreamId);
    if (found?.document.global_token_revocation !== true) throw refuse("the record accepts none");
    return { upstream: found, claims: await verifyMessage(at, found, token, validate, refuse) };
  });
  isolate.rateShield.discountAuthentication(context, request);
  const { about, who } = readPerson(upstream, request);
  const issuer = upstreamKinds[upstream.document.kind].issuerOf(upstream.document);
  const known = who === undefined ? [] : await findPersonThere(DB, { upstreamId, issuer }, who);
  // The first sign-in of a person may be under way.
  const named = who !== undefined && "subject" in who ? [who.subject] : [];
  const subjects = [...new Set([...named, ...known.map(({ subject }) => subject)])];
  const revocation = await revocationOf(upstream, claims, about, subjects, context.arrivedAtMs);
  if (!(await recordRevocation(DB, revocation))) throw refuse("jti: it was about somebody else");
  const sub = known[0]?.sub;
  if (sub === undefined) throw new OAuthError("not_found", "revocation-subject-unknown");
  const cutOff = {
    kind: "sub",
    id: sub,
    operationId: `upstream ${revocation.id}`,
    actor: `upstream ${upstreamId}`,
  } as const;
  await callObject("control plane", () => controlPlane(context).cutOff(cutOff), controlCallMs);
  return new Response(null, { status: 204, headers: noStore });
}

function refuse(detail: string): OAuthError {
  const description = "The bearer token is not valid.";
  return resourceError("Bearer", "invalid_token", "revocation-token-invalid", { detail, description });
}

interface Named {
  /** In the provider's words. */
  readonly about: readonly string[];
  /** `undefined` for somebody whom this provider cannot name. */
  readonly who: PersonThere | undefined;
}

/**
 * Whom the body names (RFC 9493). The provider speaks for subjects of its own issuer, and for addresses in domains that the record trusts: any other
 * address finds nobody, whoever has it.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9493#section-3.2
 */
function readPerson(upstream: Upstream, request: ReceivedRequest): Named {
  const body = request.requireBody();
  const id = parseJsonObject(typeof body === "string" ? body : new TextDecoder().decode(body))?.["sub_id"];
  const { format, iss, sub, email } = isJsonObject(id) ? id : {};
  if (format === "iss_sub" && typeof iss === "string" && isName(sub)) {
    const isOwn = iss === upstreamKinds[upstream.document.kind].issuerOf(upstream.document);
    return { about: [format, iss, sub], who: isOwn ? { subject: sub } : undefined };
  }
  if (format !== "email" || typeof email !== "string") {
    const description = "sub_id must have the format iss_sub or email, with its members.";
    throw new OAuthError("invalid_request", "revocation-subject-malformed", { description });
  }
  const key = parseEmailAddress(email)?.key;
  const isBelieved = key !== undefined && isTrustedDomain(upstream, key);
  return { about: [format, key ?? email], who: isBelieved ? { addressKey: key } : undefined };
}

/** A verified request of an upstream provider to end everything of a person. */
interface UpstreamRevocation extends Omit<UpstreamEnding, "pair"> {
  /** Names the message with whom it is about. */
  readonly boundTo: string;
}

/**
 * **What a revocation ends**: everything of a person, here in the order of sign-ins at the provider. A message is bound to whom it is about, in the
 * provider's words.
 */
async function revocationOf(
  { upstreamId, document }: Upstream,
  { jti, issuedAt }: RevocationClaims,
  about: readonly string[],
  subjects: readonly string[],
  atMs: number,
): Promise<UpstreamRevocation> {
  const by: StatedBy = [upstreamId, upstreamKinds[document.kind].issuerOf(document)];
  const [id, boundTo, ...keys] = await Promise.all([
    keyOf("revocation", by, JSON.stringify([jti])),
    keyOf("revocation", by, JSON.stringify([jti, ...about])),
    ...subjects.map((each) => keyOf("subject", by, each)),
  ]);
  return { id, boundTo, keys, issuedAt, untilMs: atMs + rememberedMs };
}

/**
 * **Records a revocation, once**: sign-ins at the provider that began before it give no session. False if the message was about somebody else. Cost:
 * 1 D1 call.
 */
async function recordRevocation(
  database: D1Database,
  { id, boundTo, keys, issuedAt, untilMs }: UpstreamRevocation,
): Promise<boolean> {
  const insert = "INSERT OR IGNORE INTO upstream_endings (name, issued_at, until_ms) VALUES (?1, ?2, ?3)";
  const [, , bound] = await queryDatabase(() =>
    peopleOf(database).batch([
      peopleOf(database).prepare(insert).bind(id, issuedAt, untilMs),
      insertKeys(database, { keys: [boundTo, ...keys], issuedAt, untilMs }),
      peopleOf(database).prepare("SELECT 1 FROM upstream_endings WHERE name = ?1").bind(boundTo),
    ]),
  );
  return bound!.results.length > 0;
}

/** A person in the words of a provider: by the identity there, or by an address, which the caller has found that the provider may speak for. */
type PersonThere = { readonly subject: string } | { readonly addressKey: string };

/**
 * **The identities at a provider of one person who has one there**; none if nobody has. An address alone finds nobody: it is verified by somebody
 * with an identity there. Cost: 1 D1 call.
 */
async function findPersonThere(
  database: D1Database,
  { upstreamId, issuer }: Omit<IdentityKey, "subject">,
  who: PersonThere,
): Promise<readonly { readonly sub: string; readonly subject: string }[]> {
  const own = "SELECT sub FROM user_identities WHERE upstream_id = ?1 AND issuer = ?2 AND subject = ?3";
  const holder = "SELECT sub FROM user_addresses WHERE address_key = ?3 AND held_until_ms IS NULL";
  const select = peopleOf(database)
    .prepare(
      `SELECT sub, subject FROM user_identities
        WHERE sub = (${"subject" in who ? own : holder}) AND upstream_id = ?1 AND issuer = ?2`,
    )
    .bind(upstreamId, issuer, "subject" in who ? who.subject : who.addressKey);
  return (await queryDatabase(() => select.all<{ sub: string; subject: string }>())).results;
}
