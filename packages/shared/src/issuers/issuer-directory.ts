import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { importedKeysBytes } from "../clients/client-bytes.ts";
import { isolateMemory } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import type { StoredKind } from "../storage/record-query.ts";
import { isIssuerDocument, type TrustedIssuer } from "./trusted-issuer.ts";

/**
 * **Finds trusted issuers by `iss`** through memory (1 h), KV (1 h) and D1, kept current by the control version. The absence of an issuer
 * is cached for a minute. Cost warm: 0.
 */
export class IssuerDirectory {
  readonly #issuers: ReadThrough<TrustedIssuer>;

  constructor(control: ControlView) {
    this.#issuers = ReadThrough.ofWhole(control, {
      ...storedIssuers,
      absentSeconds: 60,
      maxBytes: isolateMemory.trustedIssuers,
      presenceBytes: isolateMemory.absentIssuers,
      attachedBytes: ({ document }) => importedKeysBytes(document.jwks?.keys ?? []),
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

export const storedIssuers: StoredKind<TrustedIssuer> = {
  kind: "issuer",
  ttlSeconds: 3600,
  query: {
    statement: (database, issuer) =>
      database
        .prepare("SELECT issuer_id, issuer, status, document FROM trusted_issuers WHERE issuer = ?1")
        .bind(issuer),
    read: ([row]) => row && readIssuer(row as IssuerRow),
  },
};

function readIssuer({ issuer_id: issuerId, issuer, status, document }: IssuerRow): TrustedIssuer {
  return { issuerId, issuer, status, document: readStored("issuer", document, isIssuerDocument) };
}
