import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { isAcrSatisfied } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import { log } from "@edge-op/shared/runtime/log";
import { newestEnding } from "@edge-op/shared/sessions/upstream-statements";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import type { PageRequest } from "../pages/frame.ts";
import { pathOf } from "../step/sealed-flow.ts";
import type { Detour, SignInResult } from "../step/sign-in-method.ts";
import type { StepRequest } from "../step/step.ts";
import { upstreamKinds } from "./kinds.ts";
import { authorizationUrl } from "./openid.ts";
import { UpstreamUnreachable } from "./provider-fetch.ts";
import { endsSessions } from "./statement-keys.ts";
import { keepTransaction, type TransactionPurpose } from "./transaction.ts";

/** The time in which a person must come back: that of a flow. */
const awayMs = 30 * 60_000;

/** **Sends a person to an upstream provider** to sign in, for this flow in this browser. Cost: that of {@link leaveForUpstream}. */
export async function beginUpstream(at: StepRequest, form: Form): Promise<SignInResult | Detour> {
  const upstream = await at.isolate.upstreams.find(at.context, form.get("upstream") ?? "");
  return upstream === undefined
    ? { kind: "refused" }
    : leaveFor(at, upstream, form.get("username")?.trim() || at.flow.typed);
}

/** The same for a provider that is known. */
export async function leaveFor(at: StepRequest, upstream: Upstream, typed: string | undefined): Promise<Detour> {
  // Whoever comes back without a sign-in finds what they typed.
  const path = await pathOf(at, { ...at.flow, typed: typed?.slice(0, 256), problem: undefined }, at.browser, "sign-in");
  const f = new URL(path, at.context.settings.issuer).searchParams.get("f") ?? "";
  const location = await leaveForUpstream(at, upstream, {
    purpose: { f },
    isFresh: await mustBeFresh(at),
    acrValues: acrValuesThere(upstream, at.policy),
    loginHint: typed ?? at.authorization?.request.loginHint,
  });
  if (location !== undefined) return { kind: "leave", location };
  return { kind: "again", problem: { kind: "upstream", reason: "unreachable", provider: upstream.document.name } };
}

/** The provider's names of the `acr` values that a request requires or prefers. */
function acrValuesThere(
  { document: { acr_map: mapped } }: Upstream,
  { requiredAcr, preferredAcr }: StepRequest["policy"],
): readonly string[] {
  const wanted = requiredAcr ?? preferredAcr ?? [];
  return Object.keys(mapped).filter((there) => wanted.some((acr) => isAcrSatisfied(mapped[there], acr)));
}

interface Leaving {
  readonly purpose: TransactionPurpose;
  readonly isFresh: boolean;
  readonly acrValues?: readonly string[];
  readonly loginHint?: string | undefined;
}

/**
 * The URL of the authorization request to an upstream provider; `undefined` if its metadata cannot be read. Cost: 1 object call; 1 D1 call before it
 * if the provider may end sessions; 1 fetch of metadata that is not held.
 */
export async function leaveForUpstream(
  at: PageRequest,
  upstream: Upstream,
  { purpose, isFresh, acrValues, loginHint }: Leaving,
): Promise<string | undefined> {
  const { context, isolate } = at;
  const { upstreamId, document } = upstream;
  const nonce = randomBase64Url(32);
  const verifier = randomBase64Url(32);
  const issuer = upstreamKinds[document.kind].issuerOf(document);
  const asOf = endsSessions(upstream) ? await newestEnding(context.env.DB) : undefined;
  const transaction = { upstreamId, issuer, nonce, verifier, purpose, beganAtMs: context.arrivedAtMs, asOf };
  const state = await keepTransaction(context, isolate, transaction, context.arrivedAtMs + awayMs);
  try {
    const url = await authorizationUrl(at, upstream, { state, nonce, verifier, isFresh, acrValues, loginHint });
    return url.href;
  } catch (error) {
    if (!(error instanceof UpstreamUnreachable)) throw error;
    log("upstream-failed", { upstreamId, cause: error.message, requestId: context.requestId });
    return undefined;
  }
}

/** Whether the flow needs a new authentication: the client asks for one, or a signed-in person confirms that it is them. */
export async function mustBeFresh({ policy, flow, person }: StepRequest): Promise<boolean> {
  if (policy.prompt.includes("login") || policy.maxAgeSeconds !== undefined) return true;
  return flow.purpose.kind === "account" && !flow.marks.otherAccount && (await person()) !== undefined;
}
