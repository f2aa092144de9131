/** The request that causes a change, for the audit. */
export interface EventOrigin {
  /** The sender's network. */
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
  /** The client that the person signs in to. */
  readonly clientId?: string | undefined;
}
