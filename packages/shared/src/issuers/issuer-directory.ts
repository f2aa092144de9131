import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { importedKeysBytes } from "../clients/client-bytes.ts";
import { isolateMemory } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import { isIssuerDocument, type TrustedIssuer } from "./trusted-issuer.ts";

/**
 * **Finds trusted issuers by `iss`** through memory (1 h), KV (1 h) and D1, kept current by the control version. The absence of an issuer
 * is cached for a minute. Cost warm: 0.
 */
export class IssuerDirectory {
  readonly #issuers: ReadThrough<TrustedIssuer>;

  constructor(control: ControlView) {
    this.#issuers = new ReadThrough(control, {
      kind: "issuer",
      ttlSeconds: 3600,
      absentSeconds: 60,
      maxBytes: isolateMemory.trustedIssuers,
      presenceBytes: isolateMemory.absentIssuers,
      attachedBytes: ({ document }) => importedKeysBytes(document.jwks?.keys ?? []),
      load: (context, issuer) => loadIssuer(context.env.DB, issuer),
    });
  }

  get heldBytes(): number {
    return this.#issuers.heldBytes;
  }

  /** Disabled issuers are returned too; the caller refuses them. */
  find(context: RequestContext<StorageBindings>, issuer: string): Promise<TrustedIssuer | undefined> {
    return this.#issuers.find(context, issuer);
  }

  /** Whether {@link find} would cost no call. */
  isHeld(context: RequestContext<StorageBindings>, issuer: string): boolean {
    return this.#issuers.isHeld(context, issuer);
  }
}

interface IssuerRow {
  readonly issuer_id: string;
  readonly issuer: string;
  readonly status: "active" | "disabled";
  readonly document: string;
}

export async function loadIssuer(database: D1Database, issuer: string): Promise<TrustedIssuer | undefined> {
  const row = await database
    .prepare("SELECT issuer_id, issuer, status, document FROM trusted_issuers WHERE issuer = ?1")
    .bind(issuer)
    .first<IssuerRow>();
  if (row === null) return undefined;
  const { issuer_id: issuerId, status } = row;
  return { issuerId, issuer: row.issuer, status, document: readStored("issuer", row.document, isIssuerDocument) };
}
