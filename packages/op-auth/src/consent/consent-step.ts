import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { Client } from "@edge-op/shared/clients/client";
import type { ControlPlaneBindings } from "@edge-op/shared/control/commit-control-change";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { saveConsent } from "@edge-op/shared/users/consents";
import { ShownError } from "../pages/serve-page.tsx";
import { basisOf } from "../session/signed-in-person.ts";
import { writeAs } from "../session/write-as.ts";
import { isProvenIn } from "../step/flow.ts";
import type { Step, StepInput, StepRequest, StepResult, StepState } from "../step/step.ts";
import { showConsent } from "./consent-page.tsx";
import { isAllowed } from "./requested-access.ts";

/** **Consent**: the person decides what the client may do. */
export const consentStep: Step = {
  name: "consent",
  methods: [],
  isForPerson: true,
  writes: true,
  state: consentState,
  page: showConsent,
  submit: submitConsent,
};

/**
 * **Whether the person must consent**: the client requests more than they have allowed, or its identity or the request needs a decision each time
 * (the policy's consent rule).
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#Consent
 */
function consentState({ flow, facts: { person, allowed }, policy }: StepInput): StepState {
  if (person === undefined || flow.marks.consentedBy === person.sub) return { kind: "done" };
  const isGiven = {
    never: true,
    "unless just signed in": isProvenIn(flow, person.sub),
    remembered: isAllowed(allowed, policy.asked),
    "each time": false,
  }[policy.consent];
  return isGiven ? { kind: "done" } : { kind: "needed", error: "consent_required" };
}

/**
 * **The decision**: allow, deny, or sign in to another account. A consent is stored for this client and these scopes. Cost: 1 D1 call beside those of
 * the response, 2 for the first consent to a client that no administrator registered.
 */
async function submitConsent({ context, authorization, policy, person }: StepRequest, form: Form): Promise<StepResult> {
  const decision = form.get("decision");
  if (decision === "other") return { kind: "go to", step: "sign-in", marks: { otherAccount: true } };
  const signedIn = await person();
  if (decision !== "allow" || authorization === undefined || signedIn === undefined) {
    return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  }
  const { sub } = signedIn.user;
  const { client } = authorization;
  const { clientId } = client;
  const allowed = policy.asked;
  const write = async () => {
    await keepClient(context, client, sub);
    const given = { action: "consent.given", target: sub, clientId, actor: sub, detail: { allowed } };
    const { DB } = context.env;
    const save = saveConsent(DB, { sub, clientId, allowed, atMs: context.arrivedAtMs });
    await writeAs(context, basisOf(signedIn), [save, recordAdminEvent(context, given)]);
    wakeAuditLog(context);
  };
  return { kind: "done", marks: { consentedBy: sub }, write };
}

/**
 * **Stores a client at its first consent**: a client with a metadata document gets its row, which every consent and token requires; a client that
 * registered itself is marked as used. Nothing is stored for a document before that. This is not a control change, because anyone who can consent
 * could cause any number of them; none is needed, because no isolate caches the absence of a row and copies of unused registrations are kept long
 * enough (client-directory.ts). A registration that has expired meanwhile is refused. Cost: 0; 1 D1 call once per client or while an older copy is
 * held.
 */
async function keepClient(context: RequestContext<ControlPlaneBindings>, client: Client, sub: string): Promise<void> {
  const { clientId, origin, usedAtMs, createdAtMs } = client;
  if (origin === undefined || usedAtMs !== undefined) return;
  const { DB } = context.env;
  const atMs = context.arrivedAtMs;
  const isNew = origin === "document" && createdAtMs === undefined;
  const statement = isNew
    ? insertDocument(DB, client, atMs)
    : DB.prepare(
        `UPDATE clients SET used_at_ms = ?2 WHERE client_id = ?1 AND used_at_ms IS NULL
            AND (origin = 'document' OR created_at_ms > ?3)`,
      ).bind(clientId, atMs, atMs - context.settings.clientUnusedSeconds * 1000);
  const used = { action: "client.use", target: clientId, clientId, actor: sub, detail: { origin } };
  const event = recordAdminEvent(context, used, { ifChanged: true });
  const kept = DB.prepare("SELECT 1 FROM clients WHERE client_id = ?1 AND used_at_ms IS NOT NULL").bind(clientId);
  const results = await queryDatabase(() => DB.batch([statement, event, kept]));
  if (results.at(-1)?.results.length === 0) throw ended();
  wakeAuditLog(context);
}

function ended(): ShownError {
  return new ShownError("invalid_client", "client-changed", {
    status: 400,
    description: "The application is unknown.",
  });
}

/** Another request may have inserted it meanwhile. Fails if a user has the id, because metadata may not be NULL. */
function insertDocument(
  database: D1Database,
  { clientId, metadata, freshUntilMs }: Client,
  atMs: number,
): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms, origin, fresh_until_ms, used_at_ms)
         VALUES (?1, iif(EXISTS (SELECT 1 FROM users WHERE sub = ?1), NULL, ?2), ?3, ?3, 'document', ?4, ?3)
         ON CONFLICT (client_id) DO NOTHING`,
    )
    .bind(clientId, JSON.stringify(metadata), atMs, freshUntilMs ?? 0);
}
