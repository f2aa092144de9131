import { isNumber, isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";

/**
 * To sign in, in a flow that is sealed for the browser that began it; or to connect the identity with the account of the person who is signed in in
 * that browser.
 */
export type TransactionPurpose = { readonly f: string } | { readonly sub: string };

/** **A sign-in that waits for an upstream provider.** The id by which it is taken is the `state`. */
export interface Transaction {
  readonly upstreamId: string;
  /** The issuer that the request was sent to. */
  readonly issuer: string;
  readonly purpose: TransactionPurpose;
  readonly nonce: string;
  /** PKCE, RFC 7636 §4.1. */
  readonly verifier: string;
  readonly beganAtMs: number;
  /** The number of the newest message of providers that may end sessions; absent if this one may not. */
  readonly asOf?: number | undefined;
}

const isSignIn = objectOf<{ readonly f: string }>({ f: isText });
const isConnection = objectOf<{ readonly sub: string }>({ sub: isText });

function isPurpose(value: unknown): value is TransactionPurpose {
  return isSignIn(value) || isConnection(value);
}

const isTransaction = objectOf<Transaction>({
  upstreamId: isText,
  issuer: isText,
  purpose: isPurpose,
  nonce: isText,
  verifier: isText,
  beganAtMs: isNumber,
});

const kind = "upstream-sign-in";

/** Returns the `state`. Cost: 1 object call. */
export function keepTransaction(
  context: RequestContext<AuthEnv>,
  { challenges }: AuthIsolate,
  transaction: Transaction,
  untilMs: number,
): Promise<string> {
  return challenges.put(context, kind, JSON.stringify(transaction), untilMs);
}

/** Takes it: of concurrent callbacks one gets it, and none later. Cost: 1 object call. */
export async function takeTransaction(
  context: RequestContext<AuthEnv>,
  { challenges }: AuthIsolate,
  state: string,
): Promise<Transaction | undefined> {
  const text = await challenges.take(context, kind, state);
  return text === undefined ? undefined : readStored("upstream sign-in", text, isTransaction);
}
