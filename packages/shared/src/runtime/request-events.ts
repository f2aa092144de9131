import { cause, type LogEvent, number, optional, requestId, text, texts } from "./log-event.ts";

const signInFields = {
  method: text("`password`, `passkey`, `upstream` or `code`: of an app, or a recovery code."),
  sub: optional(text("The account, if there is one of that name.")),
  reason: text("Why the sign-in was refused."),
  requestId,
};

/** **Events of an isolate's requests, their callers and the URLs that they name.** */
export const requestEvents = {
  request: {
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
      calls: optional(
        text(
          "Calls of objects, KV and D1, and the rows that D1 read, if the request was sampled: `object=1 kv=0 d1=2 rows=7`.",
        ),
      ),
      requestId,
      traceId: optional(text("The trace id of the `traceparent` header, if the request has one.")),
    },
  },
  "mail-not-prepared": {
    meaning:
      "Ten thousand mails wait, or ten notices of this kind to this person, so they are not told of a change of their account. The change is made.",
    fields: { requestId },
  },
  "mail-not-released": {
    meaning:
      "The object that sends mails did not learn that a change is committed. It looks for the change itself, half a minute later.",
    fields: { cause },
  },
  "person-not-told": {
    meaning: "The mail about a sign-in in a new browser could not be made. The sign-in stands.",
    fields: { cause, requestId },
  },
  "mail-event-ignored": {
    meaning: "An event of the provider of mail has no address, or no meaning here.",
    fields: { type: text("The type of the event.") },
  },
  refused: {
    meaning: "A request was refused: an error in the request, not in the provider.",
    fields: {
      code: text("The error code of the response."),
      reason: text("The reason as a stable code ([refusal reasons](refusal-reasons.md))."),
      detail: text(
        "Details of the request, or the meaning of the reason. For an unregistered redirect URI: the URI that was sent and those that are registered, without user information, query values and fragments, at most 200 characters each. The response contains neither, except how far a clock differs.",
      ),
      clientId: optional(text("The client, once it has authenticated or its token was verified.")),
      claimedClientId: optional(
        text(
          "Otherwise the client that the request names, whether or not it exists: at most 200 characters, with characters other than printable ASCII as `\\u{…}`.",
        ),
      ),
      requestId: optional(requestId),
    },
  },
  unavailable: {
    meaning:
      "A store did not respond. The response was 503, or the queue delivers its batch again ([failures](../operating/failures.md)).",
    fields: { store: text("Which store."), cause, requestId: optional(requestId) },
  },
  bug: {
    meaning: "An unexpected exception or an invalid setting. The response was 500.",
    fields: { error: text("The exception, with its stack."), requestId: optional(requestId) },
  },
  "upstream-failed": {
    meaning:
      "An upstream provider did not respond, sent an error, or sent a response that could not be verified. The person is on the sign-in page again; a logout token has got 503.",
    fields: { upstreamId: text("Which one."), cause, requestId },
  },
  "breach-check-failed": {
    meaning:
      "The list of breached passwords (`PASSWORD_BREACH`) did not respond in time. A new password was accepted without it.",
    fields: { cause, requestId },
  },
  "sign-in-failed": {
    meaning: "A wrong password, passkey or code, or a sign-in at an upstream provider without an account.",
    fields: signInFields,
  },
  "sign-in-throttled": {
    meaning: "A sign-in was refused because of earlier failed ones.",
    fields: signInFields,
  },
  "user-code-refused": {
    meaning:
      "A signed-in person entered a user code of the device flow for which no device is waiting, or tried too many codes.",
    fields: { sub: text("The person."), reason: text("Why, or which bucket was full."), requestId },
  },
  "passkey-refused": {
    meaning: "The assertion of a passkey was not verified. `sign-in-failed` follows.",
    fields: { cause, requestId },
  },
  "passkey-not-registered": {
    meaning: "The attestation of a new passkey was not verified.",
    fields: { cause, requestId },
  },
  "factor-not-opened": {
    meaning:
      "The sealed secret of an authenticator app does not open: the row was altered, or the master key that sealed it was deleted too early.",
    fields: { sub: text("The person."), requestId },
  },
  "passkey-malformed": {
    meaning: "The response of an authenticator is not JSON.",
    fields: { requestId },
  },
  "introspection-not-allowed": {
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
  "logout-without-session": {
    meaning:
      "`GET /logout` with an `id_token_hint` and without a session cookie: nothing was ended. A back end that means to sign its user out sends a POST with the client's authentication.",
    fields: { clientId: text("The client of the hint."), requestId },
  },
  "client-key-refused": {
    meaning: "A key in the `jwks` of a client could not be imported. The admin call was refused.",
    fields: { cause },
  },
  "client-metadata-dropped": {
    meaning:
      "A client that no administrator registered has redirect URIs or scope values that it cannot have here. They are left out; the response of a registration states what is registered.",
    fields: {
      clientId: text("The client."),
      dropped: texts("At most ten of them, each with the reason."),
      requestId: optional(requestId),
    },
  },
  "scope-dropped": {
    meaning:
      "An authorization request asked for scope values that its client may not have: it registered none of them, and no requested resource gives them. They are left out; the token response states the scope.",
    fields: { clientId: text("The client."), dropped: texts("The values."), requestId },
  },
  "body-cancelled": {
    meaning: "The connection failed while the rest of a refused body was discarded. The refusal has its own line.",
    fields: { cause },
  },
  "hook-failed": {
    meaning:
      "A [hook](../operating/hooks.md) of the operator threw, did not respond in time, or returned something that it must not. What follows is as `ENABLED_HOOKS` says.",
    fields: {
      hook: text("`claims`, `beforeSignIn`, `afterSignUp`, `mail` or `legacyPassword`."),
      cause,
      requestId: optional(requestId),
    },
  },
  "rate-limit-failed": {
    meaning: "The rate-limit binding did not respond. Nothing was limited.",
    fields: { cause, requestId },
  },
  "client-not-updated": {
    meaning: "The last use or the document of a client could not be stored. The next request tries again.",
    fields: { clientId: text("The client."), cause },
  },
  "document-not-fetched": {
    meaning: "A document of another server (a key set, a client's metadata) could not be fetched or was refused.",
    fields: { kind: text("What it is."), url: text("Its URL."), reason: text("Why."), requestId },
  },
} as const satisfies Readonly<Record<string, LogEvent>>;
