import type { Browser } from "@edge-op/pages/cookies";
import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { log } from "@edge-op/shared/runtime/log";
import { openSealed } from "@edge-op/shared/secrets/seal";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { factorSeal } from "@edge-op/shared/users/factors";
import { rememberBrowser } from "../attempts/known-browser.ts";
import type { AuthEnv } from "../auth-env.ts";
import type { FlowRequest } from "../steps/step.ts";
import { readStoredFactors, type StoredFactors, spendRecoveryCode, spendTotp, type TotpRow } from "./factor-store.ts";
import { findRecoveryCode, readRecoveryCode } from "./recovery-codes.ts";
import { codeWayIn, reserveCodeAttempt } from "./reserve-code-attempt.ts";
import { matchTotp, readTotpCode } from "./totp.ts";

export type CodeResult =
  | {
      readonly kind: "right";
      readonly proof: Pick<Proof, "method" | "sub" | "credential">;
      readonly cookies: readonly string[];
      readonly epoch: number;
    }
  | { readonly kind: "refused" }
  | { readonly kind: "throttled"; readonly seconds: number };

/** A code that fits, before it is spent. */
interface Match {
  readonly method: "totp" | "recoveryCode";
  readonly credential: string;
  spend(): Promise<boolean>;
}

/**
 * **Verifies a code of a person who has proven something else**: six digits of an app, or a recovery code, in the field of either. Every code that is not accepted has the same
 * result: one that is wrong, was used before, or belongs to a factor that the person does not have.
 * Cost: 1 object call and 1 D1 call in parallel, then 1 D1 call that spends the code. A correct attempt is released in the background; a wrong one
 * costs 1 object call more, and a recovery code tell-person.ts.
 */
export async function verifyCode(at: FlowRequest, browser: Browser, sub: string, typed: string): Promise<CodeResult> {
  const { context, request } = at;
  const [attempt, stored] = await Promise.all([
    reserveCodeAttempt(at, browser, sub),
    readStoredFactors(context.env.DB, sub),
  ]);
  if (attempt.retryAfterSeconds !== undefined) {
    await attempt.recordThrottled({ sub });
    return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  }
  const match = stored?.status === "active" ? await findMatch(context, sub, stored, typed) : undefined;
  const isSpent = match !== undefined && (await match.spend());
  if (stored === undefined || match === undefined || !isSpent) {
    await attempt.recordFailure({ sub }, match === undefined ? "wrong code" : "code used before");
    return { kind: "refused" };
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
): Promise<Match | undefined> {
  const code = readRecoveryCode(typed);
  const ofApp = code === undefined ? readTotpCode(typed) : undefined;
  if (ofApp !== undefined) {
    const found = await Promise.all(apps.map((app) => matchApp(context, sub, app, ofApp)));
    return found.find((each) => each !== undefined);
  }
  if (code === undefined || codes === undefined) return undefined;
  const index = await findRecoveryCode(sub, codes.hashes, code);
  if (index === undefined) return undefined;
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
): Promise<Match | undefined> {
  const { env, arrivedAtMs: atMs, requestId } = context;
  const secret = decodeBase64Url((await openSealed(env, "factor-seal", sealed, factorSeal(sub, factorId))) ?? "");
  if (secret === undefined || secret.length === 0) {
    log("factor-not-opened", { sub, requestId });
    return undefined;
  }
  const step = await matchTotp(secret, code, { nowMs: atMs, lastStep });
  if (step === undefined) return undefined;
  return { method: "totp", credential: factorId, spend: () => spendTotp(env.DB, { sub, factorId, step, atMs }) };
}
