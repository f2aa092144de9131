import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import type { UpstreamStatement } from "@edge-op/shared/sessions/session-rpc";
import type { UpstreamEnding } from "@edge-op/shared/sessions/upstream-statements";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import { type UpstreamPerson, upstreamKinds } from "./kinds.ts";
import type { LogoutClaims } from "./logout-token.ts";
import type { Transaction } from "./transaction.ts";

/** A provider, as one issuer: the same `sid` of another one has another key. */
export type StatedBy = readonly [upstreamId: string, issuer: string];

const keyBytes = 16;

type NamedThing = "session" | "subject" | "subject without session" | "message" | "revocation";

/** Whether the provider may end sessions, so that a sign-in there must be in their order. */
export function endsSessions({ document }: Upstream): boolean {
  return document.backchannel_logout === true || document.global_token_revocation === true;
}

/** **A key under which a session can be ended**: a hash, because a session's names at a provider are that provider's. Cost: no I/O. */
export async function keyOf(of: NamedThing, by: StatedBy, name: string) {
  return encodeBase64Url((await sha256(JSON.stringify([of, ...by, name]))).subarray(0, keyBytes));
}

/** **What a session that rests on this person's sign-in can be ended by**; `undefined` if the provider may not end sessions. */
export async function statementOf(
  upstream: Upstream,
  { issuer, subject, sid, issuedAt = 0 }: UpstreamPerson,
  { asOf = 0 }: Pick<Transaction, "asOf">,
): Promise<UpstreamStatement | undefined> {
  if (!endsSessions(upstream)) return undefined;
  const by: StatedBy = [upstream.upstreamId, issuer];
  const session = sid === undefined ? keyOf("subject without session", by, subject) : keyOf("session", by, sid);
  return { session: await session, subject: await keyOf("subject", by, subject), issuedAt, asOf };
}

/** A sign-in that began before a message has ended by then: it may be half an hour away, and half an hour in its flow. */
export const rememberedMs = 2 * 3_600_000;

/**
 * **What a message ends**: with a `sid`, that session, and those of the person for which none was given, since one of them may be that session.
 * Otherwise all of the person.
 */
export async function endingOf(
  { upstreamId, document }: Upstream,
  { jti, issuedAt, sub, sid }: LogoutClaims,
  atMs: number,
): Promise<UpstreamEnding> {
  const by: StatedBy = [upstreamId, upstreamKinds[document.kind].issuerOf(document)];
  const common = { id: await keyOf("message", by, jti), issuedAt, untilMs: atMs + rememberedMs };
  const subject = sub === undefined ? undefined : await keyOf("subject", by, sub);
  if (sid === undefined) return { ...common, keys: subject === undefined ? [] : [subject] };
  const session = await keyOf("session", by, sid);
  if (sub === undefined || subject === undefined) return { ...common, keys: [session] };
  const without = await keyOf("subject without session", by, sub);
  return { ...common, keys: [session, without], pair: { session, subject } };
}
