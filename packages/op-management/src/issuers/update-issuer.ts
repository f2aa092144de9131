import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, defineRoute } from "../admin/define-route.ts";
import { nextVersion, requireMatch } from "../admin/entity-tags.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { requireOtherParty } from "../admin/own-authority.ts";
import { mayBeConflict, retryOnConflict } from "../admin/retry-on-conflict.ts";
import { requireAuthorityOverIssuer, requireIssuerDocument, toResponse } from "./issuer-document.ts";
import { issuerDocumentSchema, issuerPatchSchema, issuerSchema } from "./issuer-schema.ts";
import { findIssuer, requireIssuer, type StoredIssuer, updateIssuer } from "./issuer-store.ts";
import { narrowedTrust } from "./narrowed-trust.ts";

/** **`PATCH /admin/issuers/{issuer_id}`**. Cost: 2 D1 and the control plane's round over the live shards. */
type IssuerPatchCall = AdminCall<JsonObject, undefined>;

export const updateIssuerRoute = defineRoute({
  method: "PATCH",
  path: "/issuers/{issuer_id}",
  operationId: "updateIssuer",
  summary:
    "Changes an issuer by JSON Merge Patch; rules are replaced as a list. In force everywhere when the call returns. Tokens end that came from a disabled issuer, or from a rule that is disabled, removed or changed.",
  scope: "admin:issuers",
  body: issuerPatchSchema,
  response: { status: 200, description: "The issuer as it is now.", schema: issuerSchema },
  async handle(call) {
    return toResponse(await applyIssuerPatch(call));
  },
});

/** The issuer after the patch, committed on top of whatever else was changed meanwhile. */
export function applyIssuerPatch(call: IssuerPatchCall): Promise<StoredIssuer> {
  return retryOnConflict(async () => {
    const { env, settings } = call.context;
    const known = await requireIssuer(env.DB, call.parameter("issuer_id"));
    requireMatch(call.ifMatch, known.updatedAtMs);
    requireAuthorityOverIssuer(call.actor, known.document);
    // A rule that came later must not stand in the way of disabling an issuer.
    const isStatusAlone = Object.keys(call.body).every((name) => name === "status");
    const next = isStatusAlone
      ? ({ status: call.body["status"] === "disabled" ? "disabled" : "active", document: known.document } as const)
      : patchDocument(known, call.body, settings.issuer);
    requireAuthorityOverIssuer(call.actor, next.document);
    const status = call.body["status"] === undefined ? known.status : next.status;
    return commitIssuer(call, known, {
      ...known,
      ...next,
      status,
      updatedAtMs: nextVersion(known.updatedAtMs, nowMs()),
    });
  });
}

function patchDocument(known: StoredIssuer, patch: JsonObject, ownIssuer: string) {
  const stored = { ...known.document, status: known.status };
  const { merged, keepOthers } = patchStored(issuerDocumentSchema, stored, patch);
  const { status, document } = requireIssuerDocument(known.issuer, merged, ownIssuer);
  return { status, document: keepOthers(document) };
}

/** `undefined` when another change came in between. */
async function commitIssuer(
  call: IssuerPatchCall,
  known: StoredIssuer,
  issuer: StoredIssuer,
): Promise<StoredIssuer | undefined> {
  const database = call.context.env.DB;
  const party = narrowedTrust(known, issuer);
  if (party !== undefined) requireOtherParty(call.actor, party);
  try {
    await commitChange(call, {
      statements: [updateIssuer(database, issuer, known.updatedAtMs)],
      // The second row orders the cut-off, which counts the party as a client.
      forget: [
        { kind: "issuer", id: known.issuer },
        ...(party === undefined ? [] : [{ kind: "client", id: party } as const]),
      ],
      event: {
        action: "issuer.update",
        target: known.issuerId,
        detail: { fields: Object.keys(call.body), ...(party === undefined ? {} : { ended: party }) },
      },
      cutOff: party === undefined ? undefined : { kind: "client", id: party },
    });
    return issuer;
  } catch (cause) {
    if (!mayBeConflict(cause)) throw cause;
    const current = await findIssuer(database, known.issuerId);
    if (current?.updatedAtMs !== known.updatedAtMs) return undefined;
    throw cause;
  }
}
