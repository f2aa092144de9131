/** The request that causes a change, for the audit. */
export interface EventOrigin {
  /** The sender's network. */
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
  /** The client that the sign-in is for. */
  readonly clientId?: string | undefined;
}
