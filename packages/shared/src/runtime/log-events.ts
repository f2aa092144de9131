/**
 * **The events that Workers and objects log**: the level, the fields and the meaning of each. The types of `log` and
 * `docs/reference/log-events.md` are both made from this table. No field holds a secret, a token or the text of a request body.
 */
export interface LogEvent {
  readonly level: "info" | "warn" | "error";
  /** In Markdown, one paragraph. */
  readonly meaning: string;
  readonly fields: Readonly<Record<string, LogField>>;
}

export interface LogField {
  readonly type: "text" | "number" | "list of texts";
  readonly isOptional: boolean;
  readonly meaning: string;
}

function text(meaning: string) {
  return { type: "text", isOptional: false, meaning } as const;
}

function number(meaning: string) {
  return { type: "number", isOptional: false, meaning } as const;
}

function texts(meaning: string) {
  return { type: "list of texts", isOptional: false, meaning } as const;
}

function optional<Type extends LogField["type"]>({ type, meaning }: { readonly type: Type; readonly meaning: string }) {
  return { type, isOptional: true, meaning } as const;
}

const requestId = text("The request.");
const cause = text("The error that was caught.");
const signInFields = {
  method: text("`password` or `passkey`."),
  sub: optional(text("The account, if there is one of that name.")),
  reason: text("Why the sign-in was refused."),
  requestId,
};
const keyFields = { cause, requestId };
const sizeFields = {
  database: text("`DB` or `AUDIT_DB`."),
  bytes: number("Its size."),
  limitBytes: number("What the platform allows."),
};
const noticeFields = {
  clientId: text("The client that is notified."),
  tries: number("How often the notice was sent."),
  problem: text("Why it was not acknowledged."),
};

export const logEvents = {
  request: {
    level: "info",
    meaning:
      "A request: one line for each that failed, and for a sample of the others (`REQUEST_LOG_PERCENT`). The lines of its causes have the same `requestId`.",
    fields: {
      endpoint: text("The path as it is routed: never an id, a query or a page that does not exist."),
      method: text("The HTTP method; `other` for one that is not standard."),
      status: number("The status of the response."),
      outcome: text("`ok`, `refused` (4xx), `unavailable` (503) or `failed` (any other 5xx)."),
      code: optional(text("The error code of the response.")),
      clientId: optional(text("The client, once it has authenticated or its token was verified.")),
      durationMs: number("From the complete request to the response."),
      calls: optional(text("Calls of objects, KV and D1, if the request was sampled: `object=1 kv=0 d1=2`.")),
      requestId,
      traceId: optional(text("The trace id of the `traceparent` header, if the request has one.")),
    },
  },
  refused: {
    level: "info",
    meaning: "A request was refused: an error in the request, not in the provider.",
    fields: {
      code: text("The error code of the response."),
      reason: text("The reason as a stable code ([refusal reasons](refusal-reasons.md))."),
      detail: text("What is special about the request, or the meaning of the reason. The response contains neither."),
      requestId: optional(requestId),
    },
  },
  unavailable: {
    level: "error",
    meaning:
      "A store did not respond. The response was 503, or the queue delivers its batch again ([failures](../operating/failures.md)).",
    fields: { store: text("Which store."), cause, requestId: optional(requestId) },
  },
  bug: {
    level: "error",
    meaning: "An unexpected exception, or a setting that is not accepted. The response was 500.",
    fields: { error: text("The exception, with its stack."), requestId: optional(requestId) },
  },
  "sign-in-failed": { level: "info", meaning: "A wrong password or passkey.", fields: signInFields },
  "sign-in-throttled": {
    level: "info",
    meaning: "A sign-in was refused because of the failed ones before it.",
    fields: signInFields,
  },
  "user-code-refused": {
    level: "info",
    meaning: "A signed-in person typed a user code of the device flow that no device waits for, or tried too many.",
    fields: { sub: text("The person."), reason: text("Why, or which bucket was full."), requestId },
  },
  "passkey-refused": {
    level: "info",
    meaning: "The assertion of a passkey was not verified. `sign-in-failed` follows.",
    fields: { cause, requestId },
  },
  "passkey-not-registered": {
    level: "info",
    meaning: "The attestation of a new passkey was not verified.",
    fields: { cause, requestId },
  },
  "passkey-malformed": {
    level: "info",
    meaning: "The response of an authenticator is not JSON.",
    fields: { requestId },
  },
  "introspection-not-allowed": {
    level: "info",
    meaning:
      "A live token was introspected by a client that may not see it, so the response was inactive: the token belongs to another client, and the `introspection` policy of the caller names neither that client nor an audience of the token.",
    fields: {
      clientId: text("The caller."),
      detail: text("The reason."),
      tokenClientId: text("The client that the token was issued to."),
      tokenAudiences: texts("The audiences of the token."),
      requestId,
    },
  },
  "validation-refused": {
    level: "info",
    meaning:
      "A resource server validated a token over its Service Binding, and the result was that it is not valid for the resource although it verifies: it was issued for other audiences, or it is bound to a key that the resource server does not check.",
    fields: {
      detail: text("The reason."),
      resource: text("The resource that the caller named."),
      tokenClientId: text("The client that the token was issued to."),
      tokenAudiences: texts("The audiences of the token."),
      requestId,
    },
  },
  "client-key-refused": {
    level: "info",
    meaning: "A key in the `jwks` of a client could not be imported. The admin call was refused.",
    fields: { cause },
  },
  "body-cancelled": {
    level: "info",
    meaning: "The connection failed while the rest of a refused body was discarded. The refusal has its own line.",
    fields: { cause },
  },
  "rate-limit-failed": {
    level: "warn",
    meaning: "The rate-limit binding did not respond. Nothing was limited.",
    fields: { cause, requestId },
  },
  "client-not-updated": {
    level: "warn",
    meaning: "The last use or the document of a client could not be stored. The next request tries again.",
    fields: { clientId: text("The client."), cause },
  },
  "document-not-fetched": {
    level: "info",
    meaning: "A document of another server (a key set, a client's metadata) could not be fetched or was refused.",
    fields: { kind: text("What it is."), url: text("Its URL."), reason: text("Why."), requestId },
  },
  "kv-read-failed": {
    level: "warn",
    meaning: "KV did not return a copy. The record was read from its store.",
    fields: { key: text("The KV key."), cause, requestId },
  },
  "kv-write-failed": {
    level: "warn",
    meaning: "KV did not store a copy. Later requests read the record from its store.",
    fields: { key: text("The KV key."), cause, requestId },
  },
  "filter-not-built": {
    level: "error",
    meaning:
      "A shard with more than 10,000 rows could not build the filter that it sends to isolates. It tries again; isolates without a replica check each token by a call until then.",
    fields: { shard: text("The name of the object."), cause },
  },
  "lease-not-renewed": {
    level: "warn",
    meaning:
      "A lease was not renewed in the background. Requests are decided by it until it ends; then one fetches a new lease.",
    fields: { shard: text("The name of the object."), cause },
  },
  "lease-not-released": {
    level: "warn",
    meaning:
      "The release of an unused lease was not confirmed. Revocations at the shard wait until the lease has ended.",
    fields: { shard: text("The name of the object."), cause },
  },
  "relay-lease-not-renewed": {
    level: "warn",
    meaning:
      "A relay could not renew its lease on a shard. It tries again; the isolates behind it call that shard meanwhile.",
    fields: { shard: text("The name of the object."), cause },
  },
  "relay-confirmation-lost": {
    level: "warn",
    meaning: "The confirmation of a relay did not reach a shard. The relay's next renewal contains it.",
    fields: { shard: text("The name of the object."), cause },
  },
  "relay-avoided": {
    level: "warn",
    meaning: "A relay did not respond to an isolate, which calls the shards for the next 0.5 to 8 seconds.",
    fields: { relay: text("The name of the object."), cause },
  },
  "acknowledgement-slow": {
    level: "warn",
    meaning:
      "A revocation, a sign-out or an administrative change waited half a second or longer for lease holders that did not confirm it, or for the leases of an earlier instance ([confirmed writes](../operating/confirmed-writes.md)). At most one line a second and shard.",
    fields: {
      shard: text("The name of the object."),
      waitedMs: number("How long it waited."),
      fenceMs: number("How long it had to wait for the leases of an earlier instance; 0 for none."),
      lacking: texts("Ids of holders that had not confirmed when their leases ended, ten at most."),
      lackingInAll: number("How many holders those are. 0: all have confirmed, late."),
      unlogged: number("Slow acknowledgements since the line before that have no line."),
    },
  },
  "jwks-unconfirmed": {
    level: "warn",
    meaning: "`/jwks` returned the keys in memory, because no revocation shard confirmed the control version.",
    fields: { store: text("Which store did not respond."), requestId },
  },
  "keys-not-renewed": {
    level: "warn",
    meaning: "The key schedule was not renewed. The one in memory is used.",
    fields: keyFields,
  },
  "keys-not-reloaded": {
    level: "warn",
    meaning: "KeyManager did not respond to an object that sends logout tokens. They are sent later.",
    fields: keyFields,
  },
  "keys-from-old-copy": {
    level: "warn",
    meaning:
      "KeyManager did not respond. The copy of the key schedule in KV is used, because no key has changed since.",
    fields: keyFields,
  },
  "database-size": {
    level: "info",
    meaning: "The size of a D1 database, once a day.",
    fields: sizeFields,
  },
  "database-nearly-full": {
    level: "warn",
    meaning: "The same above 80 % of what the platform allows. A full database accepts no write: see sizing.",
    fields: sizeFields,
  },
  "sessions-still-listed": {
    level: "warn",
    meaning:
      "Sessions that have expired could not be taken off the users' lists. They stay listed until their absolute end.",
    fields: { sessions: number("How many."), cause },
  },
  "session-ending-delayed": {
    level: "error",
    meaning:
      "An object did not end a session of a user who was suspended, deleted or given a new password. It is called again until it does.",
    fields: { sid: text("The session."), cause },
  },
  "logout-notice-failed": {
    level: "warn",
    meaning: "A client did not acknowledge a back-channel logout. It is sent again.",
    fields: noticeFields,
  },
  "logout-notice-abandoned": {
    level: "warn",
    meaning: "A client did not acknowledge a back-channel logout for a day. It is not sent again.",
    fields: noticeFields,
  },
  "grant-revocation-delayed": {
    level: "error",
    meaning: "A revocation shard did not accept the revocations of grants. They are sent again until it does.",
    fields: { shard: text("The name of the object."), grants: number("How many."), cause },
  },
  "alarm-task-failed": {
    level: "error",
    meaning: "A task of an object's alarm failed. It runs again after five seconds.",
    fields: { cause },
  },
  "audit-gap": {
    level: "error",
    meaning:
      "Audit events are missing in D1 and no longer held by their object ([ADR 14](../adr/0014-lost-audit-events-are-a-recorded-gap.md)).",
    fields: {
      shard: text("The name of the object."),
      fromSeq: number("The first missing event."),
      toSeq: number("The last missing event."),
    },
  },
  "audit-chain-broken": {
    level: "error",
    meaning: "An audit event is not the one that its object recorded.",
    fields: {
      shard: text("The name of the object."),
      seq: number("The number of the event."),
      reason: text("How it differs."),
    },
  },
  "audit-set-back": {
    level: "error",
    meaning:
      "A database was restored to an earlier moment, or its newest audit rows were deleted ([ADR 35](../adr/0035-one-audit-chain-in-a-database-of-its-own.md)).",
    fields: {
      database: text("`DB` (rows of `admin_events`) or `AUDIT_DB` (positions of the chain)."),
      known: number("The newest number that was known."),
      found: number("The newest one that is still the same, or that exists."),
    },
  },
  "audit-log-not-woken": {
    level: "warn",
    meaning:
      "The object that copies changes in D1 into the audit log did not respond. It copies them within five minutes.",
    fields: { cause, requestId: optional(requestId) },
  },
  "issued-tokens-not-recorded": {
    level: "warn",
    meaning: "Issued tokens were not reported to the audit log, which records them on a best-effort basis.",
    fields: { tokens: number("How many."), cause, requestId },
  },
  "audit-export-failed": {
    level: "error",
    meaning:
      "A part of the audit log was not written to R2. It is written again minutes later; retention waits for it.",
    fields: { key: text("The key of the object."), cause },
  },
  "d1-set-back": {
    level: "error",
    meaning:
      "D1 has lost control changes: it was restored to an earlier moment ([ADR 11](../adr/0011-a-restored-database-is-detected.md)).",
    fields: {
      told: number("The control version that was known."),
      found: number("The newest one in D1."),
      now: number("The one that was added in D1."),
    },
  },
} as const satisfies Readonly<Record<string, LogEvent>>;

export type LogEventName = keyof typeof logEvents;

interface FieldValues {
  readonly text: string;
  readonly number: number;
  readonly "list of texts": readonly string[];
}

type FieldValue<Field extends LogField> = Field["isOptional"] extends true
  ? FieldValues[Field["type"]] | undefined
  : FieldValues[Field["type"]];

/** The values that a line of an event has. */
export type LogFields<Name extends LogEventName> = {
  readonly [Field in keyof (typeof logEvents)[Name]["fields"]]: (typeof logEvents)[Name]["fields"][Field] extends LogField
    ? FieldValue<(typeof logEvents)[Name]["fields"][Field]>
    : never;
};
