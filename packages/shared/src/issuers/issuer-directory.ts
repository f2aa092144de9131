import { parseJsonObject } from "@edge-op/protocol/encoding/json-object";
import { readStored } from "@edge-op/protocol/encoding/stored-json";
import type { DecodedJwt } from "@edge-op/protocol/jwt/decode-claims";
import { importedKeysBytes } from "../clients/client.ts";
import type { ClientKeys, KeySource } from "../clients/client-keys.ts";
import { isolateMemory, limits } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { type DocumentRefusal, FetchedDocuments } from "../storage/fetched-documents.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import type { StoredKind } from "../storage/record-kinds.ts";
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

/** The members of an issuer's metadata that are used. */
interface IssuerMetadata {
  readonly issuer: string;
  readonly jwksUri: string;
}

/**
 * **Verifies the signatures of trusted issuers**, with keys from the record, a `jwks_uri`, or the `jwks_uri` of the issuer's metadata. Both documents
 * are cached as their HTTP headers allow; an unknown `kid` fetches the keys again at most once a minute, and concurrent requests share one fetch.
 * Cost: 1 verification; 1 or 2 fetches from the issuer's server if nothing is cached.
 *
 * @see https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfigurationValidation
 */
export class IssuerKeys {
  readonly #clientKeys: ClientKeys;
  readonly #metadata = new FetchedDocuments<IssuerMetadata>({
    name: "issuer metadata",
    rules: { timeoutMs: limits.outboundFetchMs, bodyBytes: limits.outboundFetchBytes },
    content: "json or untyped",
    freshness: { leastSeconds: 300, usualSeconds: 3_600, mostSeconds: 86_400 },
    staleSeconds: 3_600,
    failureSeconds: 10,
    maxBytes: isolateMemory.issuerMetadata / 2,
    urlBytes: isolateMemory.issuerMetadata / 6,
    read: readMetadata,
  });

  constructor(clientKeys: ClientKeys) {
    this.#clientKeys = clientKeys;
  }

  get heldBytes(): number {
    return this.#metadata.heldBytes;
  }

  async isSigned(
    context: RequestContext<unknown>,
    issuer: TrustedIssuer,
    token: string,
    { header: { alg, kid } }: DecodedJwt,
  ): Promise<boolean> {
    if (!issuer.document.algorithms.some((each) => each === alg)) return false;
    const source = await this.#source(context, issuer);
    return source !== undefined && this.#clientKeys.isSignedBySource(context, source, token, alg, kid);
  }

  /** Why the keys of an issuer could not be fetched, if a recent fetch of them or of its metadata failed. */
  async failure(context: RequestContext<unknown>, issuer: TrustedIssuer): Promise<string | undefined> {
    const { discovery_uri: uri } = issuer.document;
    const source = await this.#source(context, issuer);
    if (source !== undefined) return this.#clientKeys.failure(context, source);
    return uri && `${uri}: ${this.#metadata.failure(context, uri) ?? "metadata of another issuer"}`;
  }

  async #source(context: RequestContext<unknown>, issuer: TrustedIssuer): Promise<KeySource | undefined> {
    const { jwks, jwks_uri: uri, discovery_uri: discoveryUri } = issuer.document;
    if (jwks !== undefined) return { jwks };
    if (uri !== undefined) return { jwks_uri: uri };
    if (discoveryUri === undefined) return undefined;
    const found = await this.#metadata.find(context, discoveryUri);
    // RFC 8414 §3.3: otherwise another provider's metadata could supply its own keys.
    if (found.kind !== "document" || found.value.issuer !== issuer.issuer) return undefined;
    return { jwks_uri: found.value.jwksUri };
  }
}

function readMetadata(body: string): IssuerMetadata | DocumentRefusal {
  const metadata = parseJsonObject(body);
  if (metadata === undefined) return { refused: "not a JSON object" };
  const { issuer, jwks_uri: jwksUri } = metadata;
  if (typeof issuer !== "string") return { refused: "no issuer" };
  if (typeof jwksUri !== "string" || jwksUri.length > 2_048) return { refused: "no jwks_uri" };
  return { issuer, jwksUri };
}
