import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { authenticationOf } from "@edge-op/protocol/oauth/authentication-context";
import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import {
  callHook,
  isHookEnabled,
  plainValue,
  type SignInVerdict,
  UnusableResult,
} from "@edge-op/shared/hooks/call-hook";
import { hookClientOf, hookUserOf } from "@edge-op/shared/hooks/find-hook-claims";
import { placeOf } from "@edge-op/shared/http/asker";
import { clientAddress } from "@edge-op/shared/http/client-address";
import type { Proof, RefusedSignIn, Session } from "@edge-op/shared/sessions/session-rpc";
import type { PageRequest } from "../pages/frame.ts";
import { logRefusedSignIn } from "../session/sign-in-limits.ts";
import type { Flow } from "../step/flow.ts";
import { newFlow } from "../step/sealed-flow.ts";
import { sinceOf } from "../step/second-factor.ts";
import type { Policy } from "../step/step.ts";
import { isDemandMet, isDemandPossible } from "./policy.ts";

interface Judged {
  readonly flow: Flow;
  readonly policy: Policy;
  readonly session: Pick<Session, "sub" | "proofs">;
  /** `undefined` for a page of this provider. */
  readonly client: Client | undefined;
  /** Whether a session would be opened next; otherwise a step that writes is. */
  readonly isComplete: boolean;
}

/**
 * **Asks the hook `beforeSignIn` about proofs before they open a session, and before a step stores something about their person.** Returns the flow
 * in which more is to be proven, or `undefined` if it goes on; throws a refusal. For a passkey the flow begins anew, because a password would stand
 * beside it. Cost: 0 unless it is enabled; then 1 RPC.
 */
export async function demandMore(at: PageRequest, judged: Judged): Promise<Flow | undefined> {
  const { context } = at;
  if (!isHookEnabled(context, "beforeSignIn")) return undefined;
  const verdict = await ask(at, judged);
  if (verdict === undefined) return undefined;
  const { flow, policy, session, isComplete } = judged;
  if ("refuse" in verdict) {
    record(at, session);
    throw new OAuthError("access_denied", "hook-refused");
  }
  const { require: demanded } = verdict;
  const sinceMs = sinceOf(policy, flow, session.sub, context.arrivedAtMs);
  if (isDemandMet(session.proofs, demanded, sinceMs)) return undefined;
  const isInForce = flow.marks.demanded === demanded;
  // The steps that write come on the way to a second factor, and never to a passkey.
  if (isInForce && demanded === "mfa" && !isComplete) return undefined;
  // A demand that is in force and is not met by complete proofs cannot be met.
  if (isInForce || !isDemandPossible(policy, demanded)) {
    throw new OAuthError("unmet_authentication_requirements", "acr-not-reached");
  }
  const marks = { ...flow.marks, demanded };
  if (demanded === "mfa") return { ...flow, marks };
  // Somebody else who is signed in does not go on in place of the person who was judged.
  const bound = { ...marks, account: session.sub, otherAccount: undefined };
  return { ...(await newFlow(at, flow.purpose, bound)), typed: flow.typed, problem: { kind: "not allowed" } };
}

async function ask(at: PageRequest, { session, client }: Judged): Promise<SignInVerdict | undefined> {
  const { context, isolate, request } = at;
  const { sub, proofs } = session;
  const [user, rbac] = await Promise.all([
    isolate.users.find(context, sub),
    isolate.users.findRbacClaims(context, sub),
  ]);
  if (user === undefined) throw new OAuthError("login_required", "user-unknown");
  const { acr, amr } = authenticationOf(proofs);
  const address = clientAddress(context, request);
  const { country } = placeOf(context);
  const userAgent = request.headers.get("user-agent");
  const asked = {
    user: hookUserOf(user, rbac),
    ...(client === undefined ? {} : { client: hookClientOf(client) }),
    ...{ acr, amr },
    ...(address === undefined ? {} : { address }),
    ...(country === undefined ? {} : { country }),
    ...(userAgent === null ? {} : { userAgent }),
  };
  const result = await callHook(context, "beforeSignIn", asked, readVerdict);
  if (result.kind === "answered") return result.value;
  if (context.settings.enabledHooks.beforeSignIn === "open") return undefined;
  throw new UnavailableError("hook beforeSignIn", result.cause);
}

/** Anything but a verdict is unusable: a misspelt refusal must not let somebody in. */
export function readVerdict(result: unknown): SignInVerdict | undefined {
  if (result === undefined || result === null) return undefined;
  const plain = plainValue(result, { size: 200, depth: 2 });
  const [[name, value] = [], ...others] = isJsonObject(plain) ? Object.entries(plain) : [];
  if (others.length === 0 && name === "refuse" && value === true) return { refuse: true };
  if (others.length === 0 && name === "require" && (value === "mfa" || value === "phr")) return { require: value };
  throw new UnusableResult("the result is not a verdict");
}

/** To the log and the audit log, once the refusal stands. */
function record({ context, isolate }: PageRequest, { sub, proofs }: Judged["session"]): void {
  const refused = { method: methodOf(proofs), sub, reason: "refused by the hook beforeSignIn" };
  const write = () => {
    logRefusedSignIn(context, "sign-in-failed", refused);
    context.waitUntil(isolate.attempts.recordFailed(context, `hook ${sub}`, refused));
  };
  const { reads } = context.progress;
  if (reads === undefined) write();
  else reads.whenDecided(write);
}

function methodOf(proofs: readonly Proof[]): RefusedSignIn["method"] {
  const { method = "" } = proofs.at(-1) ?? {};
  if (method === "syncedPasskey" || method === "boundPasskey") return "passkey";
  if (method === "totp" || method === "recoveryCode") return "code";
  return method.startsWith("upstream") ? "upstream" : "password";
}
