import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { canonicalJson } from "@edge-op/shared/audit/audit-event";
import { issuerDocumentSchema } from "@edge-op/shared/issuers/issuer-schema";
import {
  type IssuerDocument,
  issuerParty,
  ruleParty,
  type TrustedIssuer,
} from "@edge-op/shared/issuers/trusted-issuer";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { losesAny, requireOtherParty } from "../admin/actor.ts";
import { defineRecordRoutes, type PatchCall } from "../admin/define-record-routes.ts";
import type { AdminRoute } from "../admin/define-route.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { issuers, requireAuthorityOverIssuer, requireIssuerDocument, type StoredIssuer } from "./issuer-document.ts";
import { issuerCreateSchema, issuerSchema } from "./issuer-schema.ts";
import { testIssuerRoute } from "./test-issuer.ts";

/**
 * **`/admin/issuers`**: the issuers whose tokens are accepted, and their rules (ADR 51). Cost: a read 1 D1; a creation 1 D1, a change 2 D1, and the
 * control plane's round over the live shards; a deletion two rounds.
 */
export const issuerRoutes: readonly AdminRoute[] = [
  ...defineRecordRoutes({
    table: issuers,
    key: "issuer_id",
    scope: "admin:issuers",
    summaries: {
      create: "Trusts an issuer. Its tokens grant only what a rule allows.",
      list: "Lists trusted issuers in the order of their ids, a page at a time.",
      read: "Shows a trusted issuer.",
      update:
        "Changes an issuer by JSON Merge Patch; rules are replaced as a list. In force everywhere when the call returns. Tokens from a disabled issuer, or from a rule that is disabled, removed or changed, end.",
      remove: "Deletes an issuer and ends every token issued for its tokens.",
    },
    writable: issuerDocumentSchema,
    createBody: issuerCreateSchema,
    shown: issuerSchema,
    show: ({ issuerId, issuer, status, document, createdAtMs, updatedAtMs }) => ({
      issuer_id: issuerId,
      issuer,
      created_at: toSeconds(createdAtMs),
      updated_at: toSeconds(updatedAtMs),
      ...document,
      status,
    }),
    async create(call) {
      const { issuer_id: issuerId = `i${randomBase64Url(16)}`, issuer, ...given } = call.body;
      const { status, document } = requireIssuerDocument(issuer, given, call.context.settings.issuer);
      requireAuthorityOverIssuer(call.actor, document);
      const atMs = nowMs();
      const record = { issuerId, issuer, status, document, createdAtMs: atMs, updatedAtMs: atMs };
      // Isolates may remember that the issuer is not trusted.
      await issuers.create(call, record, { forget: [{ kind: "issuer", id: issuer }] });
      return { record };
    },
    patch: patchIssuer,
    ended: { status: "disabled" },
  }),
  testIssuerRoute,
];

function patchIssuer(call: PatchCall) {
  const { actor, body } = call;
  return async (known: StoredIssuer) => {
    requireAuthorityOverIssuer(actor, known.document);
    const next = patchDocument(known, call);
    requireAuthorityOverIssuer(actor, next.document);
    const status = body["status"] === undefined ? known.status : next.status;
    const changed = { status, document: next.document };
    const party = narrowedTrust(known, { ...known, ...changed });
    if (party === undefined) return { changed };
    requireOtherParty(actor, party);
    const cutOff = { kind: "client", id: party } as const;
    // The second row orders the cut-off, which counts the party as a client.
    return { changed, forget: [cutOff], detail: { ended: party }, cutOff };
  };
}

/** A later rule must not prevent disabling an issuer. */
function patchDocument(known: StoredIssuer, { body, context }: PatchCall): Pick<StoredIssuer, "status" | "document"> {
  if (Object.keys(body).every((name) => name === "status")) {
    return { status: body["status"] === "disabled" ? "disabled" : "active", document: known.document };
  }
  const stored = { ...known.document, status: known.status };
  const { merged, keepOthers } = patchStored(issuerDocumentSchema, stored, body);
  const { status, document } = requireIssuerDocument(known.issuer, merged, context.settings.issuer);
  return { status, document: keepOthers(document) };
}

/**
 * **Returns the party whose tokens end with a change of an issuer**: the issuer, if it is disabled or trusted for less (a key, an algorithm or an
 * audience was removed); a rule, if it is disabled, removed or changed. For several rules at once, it is the issuer. Pure.
 */
function narrowedTrust(before: TrustedIssuer, after: TrustedIssuer): string | undefined {
  const isDisabled = before.status === "active" && after.status === "disabled";
  if (isDisabled || losesTrust(before.document, after.document)) return issuerParty(before);
  const narrowed = before.document.rules.filter((rule) => {
    const next = after.document.rules.find(({ rule_id }) => rule_id === rule.rule_id);
    return rule.status === "active" && (next === undefined || describe(next) !== describe(rule));
  });
  if (narrowed.length > 1) return issuerParty(before);
  return narrowed[0] && ruleParty(before, narrowed[0]);
}

/** Ignores the description, because it grants nothing. */
function describe({ description: _, ...rule }: IssuerDocument["rules"][number]): string {
  return canonicalJson(rule);
}

/** Stands for the default audiences if none are configured; no audience is empty. */
const unset = "";

function losesTrust(before: IssuerDocument, after: IssuerDocument): boolean {
  const keysOf = ({ jwks }: IssuerDocument) => (jwks?.keys ?? []).map((key) => JSON.stringify(key));
  return (
    before.jwks_uri !== after.jwks_uri ||
    before.discovery_uri !== after.discovery_uri ||
    losesAny(keysOf(before), keysOf(after)) ||
    losesAny(before.algorithms, after.algorithms) ||
    losesAny(before.audiences ?? [unset], after.audiences ?? [unset])
  );
}
