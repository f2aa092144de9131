/** **The stores that can fail on request**, by the bindings of the Workers. */
export const stores = {
  /** D1: clients, users, consents, credentials. */
  database: ["DB"],
  /** The audit log. */
  audit: ["AUDIT_DB", "AUDIT_QUEUE"],
  /** KV: copies of records. */
  cache: ["CACHE"],
  revocations: ["TOKEN_REVOCATION_STORE", "REVOCATION_RELAY"],
  refreshTokens: ["REFRESH_TOKEN_ROTATOR"],
  /** Authorization codes and device codes. */
  codes: ["AUTHORIZATION_CODE_STORE"],
  sessions: ["SESSION_STORE"],
  /** Pushed requests, sign-ins in progress, ids of assertions. */
  challenges: ["CHALLENGE_STORE"],
  keys: ["KEY_MANAGER"],
  control: ["CONTROL_PLANE"],
  /** The mails that wait to be sent. */
  mail: ["MAIL_SENDER"],
} as const;

export type StoreName = keyof typeof stores;
