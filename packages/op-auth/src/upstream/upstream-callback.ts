import { redirect } from "@edge-op/pages/respond-page";
import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import { readForm } from "@edge-op/shared/http/read-form";
import { log } from "@edge-op/shared/runtime/log";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import type { PageRequest } from "../pages/frame.ts";
import { logRefusedSignIn } from "../session/sign-in-limits.ts";
import { expired } from "../step/sealed-flow.ts";
import type { StepRequest, StepResult } from "../step/step.ts";
import { codeOfError, reasonOf, requireCode } from "./failures.ts";
import { redeem } from "./openid.ts";
import { type Returned, signInUpstream, upstreamProblem } from "./sign-in-upstream.ts";
import { type Transaction, takeTransaction } from "./transaction.ts";

/** What comes after the return, in rooms above this one. */
export interface AfterReturn {
  /** Continues a flow with what its sign-in step has found. */
  readonly signIn: (at: PageRequest, f: string, judge: (open: StepRequest) => Promise<StepResult>) => Promise<Response>;
  /** Asks the person who began to confirm that the identity is theirs. */
  readonly connect: (at: PageRequest, sub: string, receive: () => Promise<Received>) => Promise<Response>;
}

/** The verified person, or why there is none. */
export type Received = Returned | { readonly problem: StepResult };

/**
 * **`GET /upstream/{id}/callback`**: a person comes back from an upstream provider. The `state` names a transaction, which is taken once; its flow
 * opens only in the browser that began it. Then the flow continues as after any other sign-in. Cost: 1 object call, in a cold isolate 2 beside each
 * other, then up to 4 fetches of the upstream provider's server, then that of {@link signInUpstream}; then as in decide-authorization.ts. Calls of
 * stores that follow one another in a busy isolate: 3 to the code for the client, 4 to the sign-in page that asks to connect an account.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthResponseValidation
 */
export async function upstreamCallback(
  at: PageRequest,
  upstreamId: string,
  { signIn, connect }: AfterReturn,
): Promise<Response> {
  const parameters = await readParameters(at, upstreamId);
  // Before the identity is read: a change after the version that is confirmed ends the session (ADR 28).
  const [transaction] = await Promise.all([
    takeTransaction(at.context, at.isolate, parameters.get("state") ?? ""),
    at.isolate.revocation.confirmControl(at.context),
  ]);
  // The path names the provider of the redirect URI, which must be the one that the request was sent to (RFC 9700 §4.4.2.2).
  if (transaction === undefined || transaction.upstreamId !== upstreamId) throw expired("upstream-transaction-unknown");
  const { purpose } = transaction;
  const received = () => receive(at, transaction, parameters);
  if ("sub" in purpose) return connect(at, purpose.sub, received);
  return signIn(at, purpose.f, async (open) => {
    const returned = await received();
    return "problem" in returned ? returned.problem : signInUpstream(open, returned);
  });
}

/** Parameters that a callback may have. Nothing else of a posted form is kept. */
const parameterNames = ["state", "code", "iss", "error", "user"];
const longestParameters = 4_096;

function sealOf(upstreamId: string): string {
  return `callback ${upstreamId}`;
}

/**
 * **`POST /upstream/{id}/callback`** (`response_mode=form_post`): a form of another site comes without Lax cookies, so it is redirected to a GET,
 * which has them. Its parameters travel sealed, because they may contain a name. Cost: 0.
 */
export async function postedCallback({ context, request }: PageRequest, upstreamId: string): Promise<Response> {
  const form = readForm(request);
  const given = parameterNames.flatMap((name) => {
    const value = form.get(name);
    return value === undefined ? [] : [[name, value]];
  });
  const text = JSON.stringify(given);
  if (text.length > longestParameters) throw expired("upstream-transaction-unknown");
  const p = await sealText(context.env, "flow-seal", text, { bound: sealOf(upstreamId) });
  return redirect(`/upstream/${encodeURIComponent(upstreamId)}/callback?${new URLSearchParams({ p })}`);
}

/** Those of the URL, or those that were posted. */
async function readParameters({ context, request }: PageRequest, upstreamId: string): Promise<URLSearchParams> {
  const own = new URL(request.url).searchParams;
  const sealed = own.get("p");
  // Names that are unsigned come from a posted form only.
  if (sealed === null) {
    own.delete("user");
    return own;
  }
  const text = await openSealed(context.env, "flow-seal", sealed, sealOf(upstreamId));
  if (text === undefined) throw expired("upstream-transaction-unknown");
  return new URLSearchParams(readStored("posted callback", text, isParameters).map(([name, value]) => [name, value]));
}

const isPair = (value: unknown): value is readonly [string, string] =>
  Array.isArray(value) && isText(value[0]) && isText(value[1]);
const isParameters = listOf(isPair);

async function receive(at: PageRequest, transaction: Transaction, parameters: URLSearchParams): Promise<Received> {
  const { context, isolate } = at;
  const { upstreamId } = transaction;
  const controlVersion = isolate.control.version ?? 0;
  // One that was disabled before is not found.
  const upstream = await isolate.upstreams.find(context, upstreamId);
  if (upstream === undefined) {
    logRefusedSignIn(context, "sign-in-failed", { method: "upstream", sub: undefined, reason: "provider disabled" });
    return { problem: { kind: "again", problem: { kind: "refused", method: "upstream" } } };
  }
  try {
    requireCode(parameters);
    const person = await redeem(at, upstream, parameters, transaction);
    return { upstream, transaction, person, controlVersion };
  } catch (error) {
    // A store of this provider, or a refusal of its own.
    if (error instanceof OAuthError || error instanceof UnavailableError) throw error;
    log("upstream-failed", { upstreamId, cause: describe(error), requestId: context.requestId });
    return { problem: upstreamProblem(upstream, reasonOf(error, parameters)) };
  }
}

/** The library's errors name the check in a cause. */
function describe(error: unknown): string {
  const causes: string[] = [];
  for (let each = error; each instanceof Error; each = each.cause) {
    const code = codeOfError(each);
    causes.push(each.message + (code === undefined ? "" : ` (${code.slice(0, 64)})`));
  }
  return causes.join(": ") || String(error);
}
