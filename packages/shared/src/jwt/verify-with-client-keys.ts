import { compactVerify } from "jose";
import { SharedCall } from "../calls/shared-call.ts";
import { isolateMemory, limits } from "../config/limits.ts";
import { isSigningAlgorithm, type SigningAlgorithm, signingAlgorithmTable } from "../config/signing-algorithms.ts";
import type { Client } from "../directory/client.ts";
import { importedKeysBytes } from "../directory/client-bytes.ts";
import { fetchClientUrl } from "../http/fetch-client-url.ts";
import type { RequestContext } from "../http/request-context.ts";
import { certificateThumbprint } from "../mtls/client-certificate.ts";
import { UnavailableError } from "../oauth/errors.ts";
import { decodeBase64 } from "../runtime/bytes.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import { log } from "../runtime/log.ts";
import { decodeJwt, isTokenType, type JwtClaims, type JwtHeader } from "./decode-claims.ts";

/**
 * **Verifies JWTs that a client signed** (client assertions, asserted grants, request objects) with its registered `jwks` or
 * `jwks_uri`, cached for 5 minutes. An unknown `kid` fetches again at most once a minute per URI, and concurrent requests for a URI
 * share one fetch. Does not validate claims. Cost: 1 verification; 1 fetch from the client's server if its keys are not cached.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-3
 */
export interface ClientJwtRules {
  /** The algorithms that the client may sign with; every supported one if absent. Never symmetric ones or `none`. */
  readonly algorithms?: readonly SigningAlgorithm[] | undefined;
  /** If given, a token that has a `typ` must have one of these; without one it passes (RFC 8725 §3.11 is the caller's choice). */
  readonly typ?: readonly string[];
}

export interface ClientJwt {
  readonly header: JwtHeader;
  readonly claims: JwtClaims;
}

type Jwk = JsonWebKey & { readonly kid?: string; readonly x5c?: string[] };

const keptMs = 5 * 60_000;
const refreshIntervalMs = 60_000;
/** After a failure the server is not called again for this long; each attempt delays a request by up to 2.5 s. */
const failureKeptMs = 10_000;
const keysTried = 4;

export class ClientKeys {
  readonly #sets = new IsolateCache<readonly Jwk[]>({
    maxBytes: isolateMemory.clientKeySets,
    attachedBytes: importedKeysBytes,
  });
  readonly #refreshed = new IsolateCache<true>({ maxBytes: isolateMemory.clientKeyUris });
  readonly #failed = new IsolateCache<true>({ maxBytes: isolateMemory.clientKeyUris });
  /** URIs with a fetch in progress, for as long as a fetch may take. */
  readonly #fetching = new IsolateCache<true>({ maxBytes: isolateMemory.clientKeyUris });
  readonly #fetches = new SharedCall<unknown, string, readonly Jwk[] | undefined>({
    name: "jwks_uri",
    joinsCallInFlight: true,
    send: (context, uri) => this.#fetch(context, uri),
  });

  get heldBytes(): number {
    return this.#sets.bytes + this.#refreshed.bytes + this.#failed.bytes + this.#fetching.bytes;
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

    for (const key of await this.#candidates(context, client, alg, kid)) {
      if (await isSignedBy(token, key, alg)) return decoded;
    }
    return undefined;
  }

  /** Whether a certificate is in `x5c` of a key of the client (RFC 8705 §2.2.2). One that is new at a `jwks_uri` is fetched like a new `kid`. */
  async hasCertificate(context: RequestContext<unknown>, client: Client, thumbprint: string): Promise<boolean> {
    const { jwks, jwks_uri: uri } = client.metadata;
    if (uri === undefined) return containsCertificate(jwks?.keys ?? [], thumbprint);
    const held = this.#sets.get(uri, context.arrivedAtMs);
    if (held !== undefined && (await containsCertificate(held, thumbprint))) return true;
    if (!this.#mayFetchAgain(context, uri, held)) return false;
    return containsCertificate((await this.#shareFetch(context, uri)) ?? [], thumbprint);
  }

  async #candidates(
    context: RequestContext<unknown>,
    client: Client,
    alg: SigningAlgorithm,
    kid: string | undefined,
  ): Promise<readonly Jwk[]> {
    const { jwks, jwks_uri: uri } = client.metadata;
    if (uri === undefined) return select(jwks?.keys ?? [], alg, kid);
    const held = this.#sets.get(uri, context.arrivedAtMs);
    const found = select(held ?? [], alg, kid);
    if (found.length > 0) return found;
    if (!this.#mayFetchAgain(context, uri, held)) return [];
    return select((await this.#shareFetch(context, uri)) ?? [], alg, kid);
  }

  /** Keys that are cached without the one that is needed are fetched again once a minute. */
  #mayFetchAgain({ arrivedAtMs }: RequestContext<unknown>, uri: string, held: readonly Jwk[] | undefined): boolean {
    if (held === undefined || this.#fetching.get(uri, arrivedAtMs)) return true;
    if (this.#refreshed.get(uri, arrivedAtMs)) return false;
    this.#refreshed.set(uri, true, arrivedAtMs + refreshIntervalMs);
    return true;
  }

  /** Concurrent requests, forged ones included, must not cause as many fetches from a third party. */
  async #shareFetch(context: RequestContext<unknown>, uri: string): Promise<readonly Jwk[] | undefined> {
    if (this.#failed.get(uri, context.arrivedAtMs)) return undefined;
    try {
      return await this.#fetches.call(context, uri, uri);
    } catch (error) {
      // The requests that led the fetch were cancelled: handled like a server that does not respond.
      if (!(error instanceof UnavailableError)) throw error;
      log("jwks-uri-failed", { uri, reason: "no turn", requestId: context.requestId });
      return undefined;
    }
  }

  async #fetch(context: RequestContext<unknown>, uri: string): Promise<readonly Jwk[] | undefined> {
    this.#fetching.set(uri, true, context.arrivedAtMs + limits.outboundFetchMs);
    const keys = await this.#load(context, uri);
    this.#fetching.delete(uri);
    return keys;
  }

  async #load(context: RequestContext<unknown>, uri: string): Promise<readonly Jwk[] | undefined> {
    const result = await fetchClientUrl(uri, context.settings.issuer, { headers: { accept: "application/json" } });
    const keys = result.kind === "response" && result.status === 200 ? parseJwks(result.body) : undefined;
    if (keys === undefined) {
      const reason = result.kind === "failed" ? result.reason : `status ${result.status} or no JWK set`;
      log("jwks-uri-failed", { uri, reason, requestId: context.requestId });
      this.#failed.set(uri, true, context.arrivedAtMs + failureKeptMs);
      return undefined;
    }
    this.#sets.set(uri, keys, context.arrivedAtMs + keptMs);
    return keys;
  }
}

async function containsCertificate(keys: readonly Jwk[], thumbprint: string): Promise<boolean> {
  for (const { x5c } of keys) {
    const der = decodeBase64(x5c?.[0] ?? "");
    if (der !== undefined && der.byteLength > 0 && (await certificateThumbprint(der)) === thumbprint) return true;
  }
  return false;
}

/** Keys that may have created the signature: the named one, or the first few that fit (RFC 7517 §4). */
function select(keys: readonly Jwk[], alg: SigningAlgorithm, kid: string | undefined): readonly Jwk[] {
  const { keyType, curve } = signingAlgorithmTable[alg];
  return keys
    .filter(
      (key) =>
        (kid === undefined || key.kid === kid) &&
        key.kty === keyType &&
        (curve === undefined || key.crv === curve) &&
        (key.use === undefined || key.use === "sig") &&
        (key.alg === undefined || key.alg === alg),
    )
    .slice(0, keysTried);
}

/** A key that the library refuses (too short, malformed, private) verifies nothing. The library imports a key object once. */
async function isSignedBy(token: string, key: Jwk, alg: SigningAlgorithm): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [alg] });
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}

const keptMembers = ["kid", "use", "alg", "crv", "n", "e", "x", "y", "d"] as const;

/**
 * The members that verification uses. A client's server decides what else is in its set, and 64 KiB of JSON can become megabytes of
 * objects. `d` stays because a private key verifies nothing. Keys of other types are left out (RFC 7517 §5).
 */
function readJwk(value: unknown): Jwk[] {
  if (!isRecord(value)) return [];
  const certificates: unknown = value["x5c"];
  const kty = Object.values(signingAlgorithmTable).find(({ keyType }) => keyType === value["kty"])?.keyType;
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

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseJwks(body: string): readonly Jwk[] | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== "object" || value === null || !("keys" in value) || !Array.isArray(value.keys))
      return undefined;
    return value.keys.flatMap(readJwk);
  } catch {
    return undefined;
  }
}
