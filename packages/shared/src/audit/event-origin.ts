import type { RequestContext } from "../http/request-context.ts";

/** The request that causes a change, for the audit. */
export interface EventOrigin {
  /** The sender's network. */
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
  /** The client that the person signs in to. */
  readonly clientId?: string | undefined;
}

/** The origin of what a request does. */
export function originOf({ network, requestId }: RequestContext<unknown>, clientId?: string): EventOrigin {
  return { address: network, requestId, clientId };
}
