import { decodeBase64 } from "@edge-op/protocol/encoding/bytes";
import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { decodeJwt, isTokenType, type JwtClaims, type JwtHeader } from "@edge-op/protocol/jwt/decode-claims";
import { isEncryptionKey, type KeyManagementAlgorithm } from "@edge-op/protocol/jwt/encryption-algorithms";
import {
  type IssuerAlgorithm,
  isIssuerAlgorithm,
  isSigningAlgorithm,
  issuerKeyForms,
  type SigningAlgorithm,
} from "@edge-op/protocol/jwt/signing-algorithms";
import { certificateThumbprint } from "@edge-op/protocol/mtls/client-certificate";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { compactVerify } from "jose/jws/compact/verify";
import { isolateMemory, limits } from "../config/limits.ts";
import { HostBudget } from "../http/host-budget.ts";
import type { RequestContext } from "../http/request-context.ts";
import { type DocumentRefusal, FetchedDocuments } from "../storage/fetched-documents.ts";
import { type Client, importedKeysBytes } from "./client.ts";

export interface ClientJwtRules {
  /** The algorithms that the client may sign with; every supported one if absent. Symmetric algorithms and `none` are never allowed. */
  readonly algorithms?: readonly SigningAlgorithm[] | undefined;
  /** If given, a `typ` must be one of these; a token without `typ` is accepted (RFC 8725 §3.11 is the caller's choice). */
  readonly typ?: readonly string[];
}

export interface ClientJwt {
  readonly header: JwtHeader;
  readonly claims: JwtClaims;
}

type Jwk = JsonWebKey & { readonly kid?: string; readonly x5c?: string[] };

/** Where a client or a trusted issuer has its keys. */
export interface KeySource {
  readonly jwks?: { readonly keys: readonly Jwk[] } | undefined;
  readonly jwks_uri?: string | undefined;
}

const keysTried = 4;

/** A refusal that names the key set, not the token, if no key set was read. */
interface KeyRefusal {
  readonly reason: RefusalReason;
  readonly detail?: string;
  readonly description?: string;
}

/** The caller learns that the fetch failed; only the log has the other server's fault. */
export function keysNotFetched(detail: string) {
  const description = "The keys for the signature, the encryption or the certificate could not be fetched.";
  return { reason: "keys-not-fetched", detail, description } as const;
}

interface KeySet {
  readonly keys: readonly Jwk[];
}

/**
 * **Verifies JWTs that a client signed** (client assertions, asserted grants, request objects) with its registered `jwks` or `jwks_uri`, cached as
 * the HTTP headers allow (1 minute to 1 hour; 5 minutes without). An unknown `kid` fetches again at most once a minute per URI, and concurrent
 * requests for a URI share one fetch. Does not validate claims. Cost: 1 verification; 1 fetch from the client's server if its keys are not cached.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-3
 */
export class ClientKeys {
  readonly #sets = new FetchedDocuments<KeySet>({
    name: "jwks_uri",
    rules: { timeoutMs: limits.outboundFetchMs, bodyBytes: limits.outboundFetchBytes },
    // Many servers send no media type for a file.
    content: "json or untyped",
    freshness: { leastSeconds: 60, usualSeconds: 300, mostSeconds: 3600 },
    staleSeconds: 600,
    failureSeconds: 10,
    maxBytes: isolateMemory.clientKeySets,
    urlBytes: isolateMemory.clientKeyUris,
    attachedBytes: ({ keys }) => importedKeysBytes(keys),
    hostBudget: new HostBudget({ perMinute: limits.keyFetchesPerMinute, maxBytes: isolateMemory.hostBudgets / 2 }),
    read: parseJwks,
  });

  get heldBytes(): number {
    return this.#sets.heldBytes;
  }

  /** `undefined` for a token that is not signed by a key of the client with an allowed algorithm. */
  async verify(
    context: RequestContext<unknown>,
    client: Client,
    token: string,
    { algorithms, typ }: ClientJwtRules,
  ): Promise<ClientJwt | undefined> {
    const decoded = decodeJwt(token);
    if (decoded === undefined) return undefined;
    const { alg, kid } = decoded.header;
    if (!isSigningAlgorithm(alg) || (algorithms !== undefined && !algorithms.includes(alg))) return undefined;
    if (typ !== undefined && decoded.header.typ !== undefined && !isTokenType(decoded.header.typ, typ))
      return undefined;

    return (await this.isSignedBySource(context, client.metadata, token, alg, kid)) ? decoded : undefined;
  }

  /** Whether a key of `source` made the signature of `token`, whose header has `alg` and `kid`. */
  async isSignedBySource(
    context: RequestContext<unknown>,
    source: KeySource,
    token: string,
    alg: string,
    kid: string | undefined,
  ): Promise<boolean> {
    if (!isIssuerAlgorithm(alg)) return false;
    for (const key of await this.#candidates(context, source, alg, kid)) {
      if (await isSignedBy(token, key, alg)) return true;
    }
    return false;
  }

  /** Whether a certificate is in `x5c` of a key of the client (RFC 8705 §2.2.2). A new one at a `jwks_uri` is fetched like a new `kid`. */
  async hasCertificate(context: RequestContext<unknown>, client: Client, thumbprint: string): Promise<boolean> {
    const { jwks, jwks_uri: uri } = client.metadata;
    const has = (keys: readonly Jwk[]) => containsCertificate(keys, thumbprint);
    return uri === undefined ? has(jwks?.keys ?? []) : this.#inSet(context, uri, has, (isThere) => isThere);
  }

  /** A key to encrypt with for the client; `undefined` if it has none for the algorithm. A key with `use` `enc` is preferred. */
  async findEncryptionKey(
    context: RequestContext<unknown>,
    client: Client,
    alg: KeyManagementAlgorithm,
  ): Promise<Pick<Jwk, EncryptionMember> | undefined> {
    const { jwks, jwks_uri: uri } = client.metadata;
    const find = async (keys: readonly Jwk[]) => {
      const fitting = keys.filter((key) => isEncryptionKey(key, alg));
      return fitting.find(({ use }) => use === "enc") ?? fitting[0];
    };
    const isFound = (key: Jwk | undefined) => key !== undefined;
    const found = await (uri === undefined ? find(jwks?.keys ?? []) : this.#inSet(context, uri, find, isFound));
    if (found === undefined) return undefined;
    const entries = encryptionMembers.flatMap((name) => (found[name] === undefined ? [] : [[name, found[name]]]));
    return Object.fromEntries(entries);
  }

  /** Why the keys of a source could not be fetched, if a recent fetch failed: then it is not known whether a signature is theirs. */
  failure(context: RequestContext<unknown>, { jwks_uri: uri }: KeySource): string | undefined {
    const reason = uri === undefined ? undefined : this.#sets.failure(context, uri);
    return reason === undefined ? undefined : `${uri}: ${reason}`;
  }

  /** The refusal of what no key of the client fits: `reason`, unless the keys could not be fetched. */
  explain(context: RequestContext<unknown>, { metadata }: Client, reason: RefusalReason): KeyRefusal {
    const failure = this.failure(context, metadata);
    return failure === undefined ? { reason } : keysNotFetched(failure);
  }

  async #candidates(
    context: RequestContext<unknown>,
    { jwks, jwks_uri: uri }: KeySource,
    alg: IssuerAlgorithm,
    kid: string | undefined,
  ): Promise<readonly Jwk[]> {
    if (uri === undefined) return select(jwks?.keys ?? [], alg, kid);
    const fitting = async (keys: readonly Jwk[]) => select(keys, alg, kid);
    return this.#inSet(context, uri, fitting, (found) => found.length > 0);
  }

  /** Looks something up in the keys of a URI. If a held copy does not contain it, a newer copy is fetched at most once a minute. */
  async #inSet<Result>(
    context: RequestContext<unknown>,
    uri: string,
    lookUp: (keys: readonly Jwk[]) => Promise<Result>,
    isFound: (result: Result) => boolean,
  ): Promise<Result> {
    const held = this.#sets.held(context, uri)?.value;
    if (held === undefined) {
      const fetched = await this.#sets.find(context, uri);
      return lookUp(fetched.kind === "document" ? fetched.value.keys : []);
    }
    const result = await lookUp(held.keys);
    return isFound(result) ? result : lookUp((await this.#sets.renew(context, uri))?.keys ?? []);
  }
}

async function containsCertificate(keys: readonly Jwk[], thumbprint: string): Promise<boolean> {
  for (const { x5c } of keys) {
    const der = decodeBase64(x5c?.[0] ?? "");
    if (der !== undefined && der.byteLength > 0 && (await certificateThumbprint(der)) === thumbprint) return true;
  }
  return false;
}

/** `jwt-svid`: the keys for JWTs in a SPIFFE bundle. */
const signatureUses = new Set(["sig", "jwt-svid"]);

/** Keys that may have created the signature: the named one, or the first few suitable ones (RFC 7517 §4). */
function select(keys: readonly Jwk[], alg: IssuerAlgorithm, kid: string | undefined): readonly Jwk[] {
  const { keyType, curve } = issuerKeyForms[alg];
  return keys
    .filter(
      (key) =>
        (kid === undefined || key.kid === kid) &&
        key.kty === keyType &&
        (curve === undefined || key.crv === curve) &&
        (key.use === undefined || signatureUses.has(key.use)) &&
        (key.alg === undefined || key.alg === alg),
    )
    .slice(0, keysTried);
}

/** A key that the library refuses (too short, malformed, private) verifies nothing. The library imports a key object once. */
async function isSignedBy(token: string, key: Jwk, alg: IssuerAlgorithm): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [alg] });
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}

/** The public members of a key, and its name. */
const encryptionMembers = ["kid", "kty", "crv", "n", "e", "x", "y"] as const;
type EncryptionMember = (typeof encryptionMembers)[number];

const keptMembers = ["kid", "use", "alg", "crv", "n", "e", "x", "y", "d"] as const;

/**
 * The members that verification uses. Others are dropped, because a client's server controls the rest of its set and 64 KiB of JSON can become
 * megabytes of objects. `d` is kept so that a private key is recognised and verifies nothing. Keys of other types are dropped (RFC 7517 §5).
 */
function readJwk(value: unknown): Jwk[] {
  if (!isJsonObject(value)) return [];
  const certificates: unknown = value["x5c"];
  const kty = Object.values(issuerKeyForms).find(({ keyType }) => keyType === value["kty"])?.keyType;
  if (kty === undefined) return [];
  const jwk: JsonWebKey & { kid?: string; x5c?: string[] } = { kty };
  if (Array.isArray(certificates) && typeof certificates[0] === "string") jwk.x5c = [certificates[0]];
  for (const name of keptMembers) {
    const member = value[name];
    if (member === undefined) continue;
    // A member of another type makes the key unusable.
    if (typeof member !== "string") return [];
    jwk[name] = member;
  }
  const operations = value["key_ops"];
  if (operations === undefined) return [jwk];
  if (!Array.isArray(operations)) return [];
  return [{ ...jwk, key_ops: operations.filter((operation) => typeof operation === "string") }];
}

function parseJwks(body: string): KeySet | DocumentRefusal {
  try {
    const value: unknown = JSON.parse(body);
    if (isJsonObject(value) && Array.isArray(value["keys"])) return { keys: value["keys"].flatMap(readJwk) };
  } catch {
    // Not JSON.
  }
  return { refused: "no JWK set" };
}
