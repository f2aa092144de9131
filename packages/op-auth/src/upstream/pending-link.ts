import { isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";
import type { IdentityKey } from "./identity-store.ts";

/** **A verified identity that waits for its person to connect it**: for one user, and used once. */
export interface PendingLink extends IdentityKey {
  readonly sub: string;
  readonly label: string;
  /** The name of the provider. */
  readonly provider: string;
}

const isPendingLink = objectOf<PendingLink>({
  ...{ upstreamId: isText, issuer: isText, subject: isText },
  ...{ sub: isText, label: isText, provider: isText },
});

const kind = "upstream-link";
/** A person signs in between the two halves. */
const pendingMs = 15 * 60_000;

/** Returns its id. Cost: 1 object call, as each of these functions. */
export function keepPendingLink(
  context: RequestContext<AuthEnv>,
  { challenges }: AuthIsolate,
  link: PendingLink,
): Promise<string> {
  return challenges.put(context, kind, JSON.stringify(link), context.arrivedAtMs + pendingMs);
}

/** For the page that asks. */
export async function peekPendingLink(
  context: RequestContext<AuthEnv>,
  { challenges }: AuthIsolate,
  id: string,
): Promise<PendingLink | undefined> {
  return readLink(await challenges.peek(context, kind, id));
}

/** Taken once: after the person has disconnected the identity, an old page does not connect it again. */
export async function takePendingLink(
  context: RequestContext<AuthEnv>,
  { challenges }: AuthIsolate,
  id: string,
): Promise<PendingLink | undefined> {
  return readLink(await challenges.take(context, kind, id));
}

function readLink(text: string | undefined): PendingLink | undefined {
  return text === undefined ? undefined : readStored("upstream link", text, isPendingLink);
}
