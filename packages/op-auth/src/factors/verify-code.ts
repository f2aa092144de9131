import type { Browser } from "@edge-op/pages/cookies";
import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { log } from "@edge-op/shared/runtime/log";
import { openSealed } from "@edge-op/shared/secrets/seal";
import type { Lane } from "@edge-op/shared/sessions/attempts";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { factorSeal } from "@edge-op/shared/users/factors";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { isKnownBrowser, rememberBrowser, type WayIn } from "../session/known-browser.ts";
import { type Bucket, type ReservedAttempt, reserveAttempt } from "../session/sign-in-limits.ts";
import { readStoredFactors, type StoredFactors, spendRecoveryCode, spendTotp, type TotpRow } from "./factor-store.ts";
import { findRecoveryCode, readRecoveryCode } from "./recovery-codes.ts";
import { explainTotp, matchTotp, readTotpCode } from "./totp.ts";

export type CodeResult =
  | {
      readonly kind: "right";
      readonly proof: Pick<Proof, "method" | "sub" | "credential">;
      readonly cookies: readonly string[];
      readonly epoch: number;
    }
  | { readonly kind: "refused"; readonly fault: CodeFault }
  | { readonly kind: "throttled"; readonly seconds: number };

/** Why a code was not accepted: one of an app that was `used` or is `old`, a `recoveryCode`, or any other text. */
export type CodeFault = "wrong" | "used" | "old" | "recoveryCode";

/** A code that fits, before it is spent. */
interface Match {
  readonly method: "totp" | "recoveryCode";
  readonly credential: string;
  spend(): Promise<boolean>;
}

/**
 * **Verifies a code of a person who has proven something else**: six digits of an app, or a recovery code, in the field of either. A code that is
 * not accepted says what its person can do about it: nothing that helps to guess another one. Cost: 1 object call and
 * 1 D1 call in parallel, then 1 D1 call that spends the code. A correct attempt is released in the background; a wrong one costs 1 object call more,
 * and a recovery code tell-person.ts.
 */
export async function verifyCode(at: PageRequest, browser: Browser, sub: string, typed: string): Promise<CodeResult> {
  const { context, request } = at;
  const [attempt, stored] = await Promise.all([
    reserveCodeAttempt(at, browser, sub),
    readStoredFactors(context.env.DB, sub),
  ]);
  if (attempt.retryAfterSeconds !== undefined) {
    await attempt.recordThrottled({ sub });
    return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  }
  const match: Match | CodeFault = stored?.status === "active" ? await findMatch(context, sub, stored, typed) : "wrong";
  const isSpent = typeof match !== "string" && (await match.spend());
  if (stored === undefined || typeof match === "string" || !isSpent) {
    const fault = typeof match === "string" ? match : match.method === "totp" ? "used" : "recoveryCode";
    await attempt.recordFailure(
      { sub },
      typeof match === "string" && match !== "used" ? "wrong code" : "code used before",
    );
    return { kind: "refused", fault };
  }
  context.waitUntil(attempt.release());
  return {
    kind: "right",
    proof: { method: match.method, sub, credential: match.credential },
    cookies: [await rememberBrowser(context, request, browser, codeWayIn(sub))],
    epoch: stored.epoch,
  };
}

async function findMatch(
  context: RequestContext<AuthEnv>,
  sub: string,
  { apps, codes }: StoredFactors,
  typed: string,
): Promise<Match | CodeFault> {
  const code = readRecoveryCode(typed);
  const ofApp = code === undefined ? readTotpCode(typed) : undefined;
  if (ofApp !== undefined) {
    const found = await Promise.all(apps.map((app) => matchApp(context, sub, app, ofApp)));
    const match = found.find((each) => typeof each === "object");
    return match ?? found.find((each) => each !== undefined && each !== "wrong") ?? "wrong";
  }
  if (code === undefined) return "wrong";
  const index = codes && (await findRecoveryCode(sub, codes.hashes, code));
  if (codes === undefined || index === undefined) return "recoveryCode";
  const { set_id: setId } = codes;
  const spend = async () => {
    const used = { action: "recovery_codes.used", target: setId, actor: sub };
    const event = recordAdminEvent(context, used, { ifChanged: true });
    const isSpent = await tellPerson(context, { sub, kind: "recovery-code-used", evidence: used }, () =>
      spendRecoveryCode(context.env.DB, { sub, setId, index }, event),
    );
    if (isSpent) wakeAuditLog(context);
    return isSpent;
  };
  return { method: "recoveryCode", credential: setId, spend };
}

async function matchApp(
  context: RequestContext<AuthEnv>,
  sub: string,
  { factor_id: factorId, secret: sealed, last_step: lastStep }: TotpRow,
  code: string,
): Promise<Match | CodeFault> {
  const { env, arrivedAtMs: atMs, requestId } = context;
  const secret = decodeBase64Url((await openSealed(env, "factor-seal", sealed, factorSeal(sub, factorId))) ?? "");
  if (secret === undefined || secret.length === 0) {
    log("factor-not-opened", { sub, requestId });
    return "wrong";
  }
  const now = { nowMs: atMs, lastStep };
  const step = await matchTotp(secret, code, now);
  if (step === undefined) return (await explainTotp(secret, code, now)) ?? "wrong";
  return { method: "totp", credential: factorId, spend: () => spendTotp(env.DB, { sub, factorId, step, atMs }) };
}

const minute = 60_000;
/**
 * Five, then one every five minutes; after a hundred, one every three hours. Three codes are valid at once: a guesser who has the password succeeds
 * in a year with 1 %.
 */
const codeLane: Lane = [
  { part: "", limit: { capacity: 5, drainMs: 5 * minute } },
  { part: "sustained", limit: { capacity: 100, drainMs: 180 * minute } },
];

export function codeWayIn(sub: string): WayIn {
  return `code\n${sub}`;
}

/**
 * **Reserves an attempt at a code before it is verified**, while the factors are read. A browser in which a code of the person has succeeded has a
 * bucket to itself, so that a stranger who has the password does not keep the owner out. Addresses are counted with the first proof. Cost: 1 object
 * call; 1 more for a wrong or a refused attempt.
 */
async function reserveCodeAttempt(
  { context, isolate, request }: PageRequest,
  browser: Browser,
  sub: string,
): Promise<ReservedAttempt> {
  const wayIn = codeWayIn(sub);
  const isKnown = await isKnownBrowser(context, request, browser, wayIn);
  const bucket: Bucket = isKnown
    ? { name: "browser", subject: `known ${browser.id} ${wayIn}`, lanes: [codeLane] }
    : { name: "account", subject: `account ${wayIn}`, lanes: [codeLane] };
  return reserveAttempt(context, isolate, [bucket], "code");
}
