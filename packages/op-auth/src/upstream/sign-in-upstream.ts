import type { ProofMethod } from "@edge-op/protocol/oauth/authentication-context";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import { hasSecondFactor } from "@edge-op/shared/users/factors";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { logRefusedSignIn } from "../session/sign-in-limits.ts";
import type { UpstreamProblem } from "../step/flow.ts";
import type { StepRequest, StepResult } from "../step/step.ts";
import { mustBeFresh } from "./begin-upstream.ts";
import { findIdentity, type KnownIdentity, labelOf, recordIdentityUse } from "./identity-store.ts";
import type { UpstreamPerson } from "./kinds.ts";
import { keepPendingLink } from "./link-identity.ts";
import { maySignUp, provisionUser } from "./provision-user.ts";
import { statementOf } from "./statement-keys.ts";
import type { Transaction } from "./transaction.ts";

/** How far the clocks of an upstream provider and of this one may differ. */
const clockMs = 60_000;

export interface Returned {
  readonly upstream: Upstream;
  readonly transaction: Transaction;
  readonly person: UpstreamPerson;
  /** Confirmed for this request. */
  readonly controlVersion: number;
}

/**
 * **Who a verified person of an upstream provider is here**: the owner of the identity, by issuer and subject and never by an address; else, if the
 * record allows it, the account with the same verified address, which its person must prove, or a new user. Cost: 1 D1 call for a known identity;
 * otherwise 2 after each other, then 1 object call, or 2 more D1 calls for a new user.
 */
export async function signInUpstream(at: StepRequest, returned: Returned): Promise<StepResult> {
  const { context, authorization } = at;
  const { upstream, person } = returned;
  const key = { upstreamId: upstream.upstreamId, issuer: person.issuer, subject: person.subject };
  const find = () => findIdentity(context.env.DB, key, authorization?.client.clientId);
  const known = await find();
  if (known !== undefined) return prove(at, returned, known);
  const holder = await findHolder(at, returned);
  if (holder !== undefined) return askToConnect(at, returned, holder.sub);
  if (!maySignUp(upstream, person)) return refuse(at, returned, undefined, "no account");
  await provisionUser(context, upstream, person);
  const made = await find();
  return made === undefined ? refuse(at, returned, undefined, "no account") : prove(at, returned, made);
}

/** The account that has verified the person's address. An address that is not believed finds nobody (nOAuth). */
async function findHolder(
  { context }: StepRequest,
  { upstream, person }: Returned,
): Promise<AddressHolder | undefined> {
  if (person.address?.isBelieved !== true || upstream.document.link_only) return undefined;
  const holder = await findAddressHolder(context.env.DB, person.address.address);
  return holder?.status === "active" ? holder : undefined;
}

/** They sign in to the account in this flow, then confirm both. */
async function askToConnect(at: StepRequest, { upstream, person }: Returned, sub: string): Promise<StepResult> {
  const { name: provider } = upstream.document;
  const { issuer, subject } = person;
  const address = person.address?.address;
  const pending = { upstreamId: upstream.upstreamId, issuer, subject, sub, label: labelOf(person), provider };
  const id = await keepPendingLink(at.context, at.isolate, pending);
  const link = { id, sub, upstreamId: upstream.upstreamId, provider, address };
  return { kind: "go to", step: "sign-in", marks: { link }, typed: address };
}

async function prove(at: StepRequest, returned: Returned, known: KnownIdentity): Promise<StepResult> {
  const { context } = at;
  const { upstream, transaction, person, controlVersion } = returned;
  const { sub, status, allowed, factors } = known;
  if (status !== "active") return refuse(at, returned, sub, "suspended");
  const hasOthers = factors.password || hasSecondFactor(factors);
  if ((await mustBeFresh(at)) && !isFreshEnough(at, returned, hasOthers)) return upstreamProblem(upstream, "stale");
  // An authentication there that is older than its response is as old here.
  const atMs = Math.min(context.arrivedAtMs, person.authTimeMs ?? context.arrivedAtMs);
  const { upstreamId } = transaction;
  const key = { upstreamId, issuer: person.issuer, subject: person.subject };
  const statement = await statementOf(upstream, person, transaction);
  const stated = statement === undefined ? {} : { upstream: statement };
  return {
    kind: "done",
    proofs: [{ method: methodOf(upstream, person), sub, credential: upstreamId, atMs, controlVersion, ...stated }],
    allowed,
    factors,
    write: () => recordIdentityUse(context.env.DB, key, context.arrivedAtMs),
  };
}

/**
 * Whether the person authenticated anew. A provider that does not say so is believed only for the account pages of a person who has no other way to
 * confirm that it is them.
 */
function isFreshEnough(
  { policy: { maxAgeSeconds, prompt }, flow }: StepRequest,
  { transaction, person: { authTimeMs } }: Returned,
  hasOthers: boolean,
): boolean {
  if (authTimeMs === undefined) return flow.purpose.kind === "account" && !hasOthers;
  const isAnew = prompt.includes("login") || flow.purpose.kind === "account";
  const ageMs = isAnew ? 0 : (maxAgeSeconds ?? 0) * 1000;
  return authTimeMs >= transaction.beganAtMs - ageMs - clockMs;
}

/** The method by the record of the provider: only the `acr` values that it names raise it. */
function methodOf({ document }: Upstream, { acr }: UpstreamPerson): ProofMethod {
  const mapped = acr !== undefined && Object.hasOwn(document.acr_map, acr) ? document.acr_map[acr] : undefined;
  if (mapped === undefined) return "upstream";
  return mapped === "phr" ? "upstreamPhr" : "upstreamMfa";
}

function refuse({ context }: StepRequest, { upstream }: Returned, sub: string | undefined, reason: string): StepResult {
  logRefusedSignIn(context, "sign-in-failed", { method: "upstream", sub, reason });
  return upstreamProblem(upstream, "unknown");
}

export function upstreamProblem(upstream: Upstream, reason: UpstreamProblem["reason"] | "declined"): StepResult {
  const why = reason === "declined" ? ({ reason: "cancelled", isDeclined: true } as const) : { reason };
  return { kind: "again", problem: { kind: "upstream", ...why, provider: upstream.document.name } };
}

/** The user who has verified an address and not replaced it; `key` is a parameter, and NULL finds nobody. */
const holder =
  "SELECT u.sub, u.status FROM user_addresses a JOIN users u ON u.sub = a.sub WHERE a.address_key = ?1 AND a.held_until_ms IS NULL";

interface AddressHolder {
  readonly sub: string;
  readonly status: "active" | "suspended";
}

/** The person who has verified an address. Cost: 1 D1 call; 0 for text that is no address. */
async function findAddressHolder(database: D1Database, address: string): Promise<AddressHolder | undefined> {
  const key = parseEmailAddress(address)?.key;
  if (key === undefined) return undefined;
  const row = await queryDatabase(() => peopleOf(database).prepare(holder).bind(key).first<AddressHolder>());
  return row ?? undefined;
}
