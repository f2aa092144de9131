import {
  type Challenge,
  type ChallengeError,
  challengeResponse,
  type Scheme,
  unavailableResponse,
} from "./challenges.ts";
import { encodeBase64Url } from "./digest.ts";
import { type DpopOptions, proofAlgorithms, verifyProof } from "./dpop-proof.ts";
import {
  checkMetadata,
  describeResource,
  isScope,
  type ProtectedResourceMetadata,
  protectedResourceMetadataUrl,
} from "./protected-resource-metadata.ts";
import {
  type Confirmation,
  isSameResource,
  readConfirmation,
  type TokenValidation,
  type TokenValidator,
} from "./token-validation.ts";

export type Presented =
  | { readonly kind: "token"; readonly scheme: Scheme; readonly token: string }
  | { readonly kind: "malformed"; readonly scheme: Scheme }
  | { readonly kind: "none" };

const longestToken = 16_384;

/**
 * **The access token of a request**: only from the `Authorization` header. A token in the URL or in a form is ignored (RFC 9700 §4.3.2), and the
 * response is that of a request without a token.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function readPresentedToken(headers: Headers): Presented {
  const header = headers.get("Authorization");
  const name = header === null ? undefined : /^(Bearer|DPoP)(?: |$)/i.exec(header)?.[1];
  if (header === null || name === undefined) return { kind: "none" };
  const scheme = name.toLowerCase() === "dpop" ? "DPoP" : "Bearer";
  const token = /^ +([\w\-.~+/]+=*) *$/.exec(header.slice(name.length))?.[1];
  if (token === undefined || token.length > longestToken) return { kind: "malformed", scheme };
  return { kind: "token", scheme, token };
}

export interface ProtectedResourceOptions<Env, Props> {
  readonly resourceMetadata: ProtectedResourceMetadata;
  /** The scopes that every access requires. They are requested in challenges, published, and required of each token. */
  readonly requiredScopes?: readonly string[];
  /** With the provider's Service Binding: `(env) => env.PROVIDER.validateToken`. */
  validateToken(env: Env, request: Request): TokenValidator<Props>;
  /** Refuses tokens that are not bound to a key. */
  readonly requiresBoundTokens?: boolean;
  readonly dpop?: DpopOptions;
  /** The thumbprint of the client's certificate, if it is not in `request.cf`. */
  clientCertificate?(request: Request): string | undefined;
  /** For scopes that imply others; by default each one is required by its name. */
  hasScopes?(granted: readonly string[], required: readonly string[]): boolean;
  /** Called with the reason of a refusal, for the log. It contains no token. */
  onRefused?(refusal: Refusal): void;
}

/** The verified facts about the token of a request. */
export interface ResourceAuth {
  /** The token as presented. Never send it to another service or log it. */
  readonly token: string;
  readonly scheme: Scheme;
  readonly audience: string;
  /** Seconds since the epoch. */
  readonly expiresAt?: number | undefined;
  readonly scope: readonly string[];
  readonly userId?: string | undefined;
  readonly clientId?: string | undefined;
  /** The key that the request has proven. */
  readonly cnf?: Confirmation | undefined;
  readonly resourceMetadataUrl: string;
}

export interface Refusal {
  readonly reason: ChallengeError | "no_token" | "temporarily_unavailable";
  readonly detail: string;
  /** The error that the validator threw. */
  readonly error?: unknown;
}

export type Authentication<Props> =
  | { readonly ok: true; readonly auth: ResourceAuth; readonly props: Props }
  | { readonly ok: false; readonly refusal: Refusal; readonly response: Response };

/**
 * **One protected resource**: decides whether a request may pass, and describes the resource to clients (RFC 9728). It accepts a token if the
 * validator accepts it for this resource, it has not expired, the request proves the key to which it is bound, if any, and it has the required
 * scopes. A validator that throws causes 503, never a guess. Cost: that of the validator; a DPoP proof adds 1 verification.
 */
export class ProtectedResource<Env, Props = unknown> {
  readonly metadataUrl: string;
  /** The document at `metadataUrl`. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly #options: ProtectedResourceOptions<Env, Props>;
  readonly #requiredScopes: readonly string[];

  constructor(options: ProtectedResourceOptions<Env, Props>) {
    const { resourceMetadata, requiredScopes = [], requiresBoundTokens = false } = options;
    checkMetadata(resourceMetadata, requiredScopes);
    this.#options = options;
    this.#requiredScopes = requiredScopes;
    this.metadataUrl = protectedResourceMetadataUrl(resourceMetadata.resource);
    const algorithms = [...proofAlgorithms];
    this.metadata = describeResource(resourceMetadata, requiredScopes, { algorithms, requiresBoundTokens });
  }

  get resource(): string {
    return this.#options.resourceMetadata.resource;
  }

  /** Decides about one request. A refusal contains the response to send. `env`: as Workers pass it; other runtimes have none. */
  async authenticate(request: Request, env?: Env): Promise<Authentication<Props>> {
    const presented = readPresentedToken(request.headers);
    if (presented.kind === "none") return this.#challengeWithoutToken();
    const { scheme } = presented;
    if (presented.kind === "malformed")
      return this.#refuse(scheme, "invalid_request", "malformed Authorization header");
    const { token } = presented;
    let validation: TokenValidation<Props> | null;
    try {
      const validate = this.#options.validateToken(env as Env, request);
      validation = await validate(this.resource, token, { checksConfirmation: true });
    } catch (error) {
      return this.#unavailable(error);
    }
    const fault = findFault(validation, this.resource, Date.now() / 1000);
    if (fault !== undefined || validation === null) return this.#refuse(scheme, "invalid_token", fault ?? "not valid");
    const unproven = await this.#checkKey(request, scheme, token, validation.cnf);
    if (unproven !== undefined) return unproven;
    const { scope = [], hasScopes = hasEach } = { scope: validation.scope, hasScopes: this.#options.hasScopes };
    if (!hasScopes(scope, this.#requiredScopes)) {
      return this.#refuse(scheme, "insufficient_scope", `the token has the scope "${scope.join(" ")}"`);
    }
    const { props, expiresAt, userId, clientId, cnf } = validation;
    const { resource: audience, metadataUrl: resourceMetadataUrl } = this;
    const auth = { token, scheme, audience, expiresAt, scope, userId, clientId, cnf, resourceMetadataUrl };
    return { ok: true, auth, props };
  }

  /** @see https://www.rfc-editor.org/rfc/rfc9449#section-7.2 */
  async #checkKey(
    request: Request,
    scheme: Scheme,
    token: string,
    cnf: Confirmation | undefined,
  ): Promise<Authentication<Props> | undefined> {
    if (cnf === undefined) {
      if (scheme === "DPoP") return this.#refuse(scheme, "invalid_token", "the token is not bound to a DPoP key");
      if (this.#options.requiresBoundTokens !== true) return undefined;
      return this.#refuse("DPoP", "invalid_token", "the token is not bound to a key");
    }
    // An application's own validator may return a value that differs from its type.
    const bound = readConfirmation(cnf);
    if (bound === undefined) return this.#refuse(scheme, "invalid_token", "the token is bound by an unknown method");
    if ("jkt" in bound) {
      if (scheme !== "DPoP") return this.#refuse("DPoP", "invalid_token", "a DPoP token used as a bearer token");
      return this.#checkProof(request, token, bound.jkt);
    }
    const thumbprint = (this.#options.clientCertificate ?? certificateThumbprint)(request);
    if (scheme === "Bearer" && thumbprint === bound["x5t#S256"]) return undefined;
    return this.#refuse(scheme, "invalid_token", "the token is bound to another client certificate");
  }

  async #checkProof(request: Request, token: string, jkt: string): Promise<Authentication<Props> | undefined> {
    const { dpop = {} } = this.#options;
    const target = {
      method: request.method,
      // Uses the resource's origin, because a proxy may have changed that of the request.
      uri: new URL(this.resource).origin + new URL(request.url).pathname,
      token,
      jkt,
      atSeconds: Date.now() / 1000,
    };
    try {
      const result = await verifyProof(request.headers.get("DPoP"), target, dpop);
      if (result.ok) return undefined;
      const more = dpop.nonces === undefined ? {} : { "DPoP-Nonce": await dpop.nonces.current() };
      return this.#refuse("DPoP", result.error, `DPoP: ${result.detail}`, more);
    } catch (error) {
      // The error comes from the application's stores of nonces and used proofs.
      return this.#unavailable(error);
    }
  }

  /** RFC 6750 §3.1: no error code for a request without credentials. Bearer comes first, because most clients only read the first challenge. */
  #challengeWithoutToken(): Authentication<Props> {
    const schemes: readonly Scheme[] = this.#options.requiresBoundTokens === true ? ["DPoP"] : ["Bearer", "DPoP"];
    const response = challengeResponse(schemes.map((scheme) => this.#challenge(scheme)));
    return this.#report({ reason: "no_token", detail: "the request has no access token" }, response);
  }

  #refuse(
    scheme: Scheme,
    error: ChallengeError,
    detail: string,
    headers: Readonly<Record<string, string>> = {},
  ): Authentication<Props> {
    const response = challengeResponse(
      [{ ...this.#challenge(scheme), error, description: descriptions[error] }],
      headers,
    );
    return this.#report({ reason: error, detail }, response);
  }

  #unavailable(error: unknown): Authentication<Props> {
    const refusal = { reason: "temporarily_unavailable", detail: String(error), error } as const;
    return this.#report(refusal, unavailableResponse());
  }

  #report(refusal: Refusal, response: Response): Authentication<Props> {
    this.#options.onRefused?.(refusal);
    return { ok: false, refusal, response };
  }

  #challenge(scheme: Scheme): Challenge {
    return { scheme, scope: this.#requiredScopes, resourceMetadata: this.metadataUrl, algorithms: proofAlgorithms };
  }
}

const descriptions: Readonly<Record<ChallengeError, string>> = {
  invalid_request: "The Authorization header is malformed.",
  invalid_token: "The access token is expired, revoked, or not valid for this resource.",
  invalid_dpop_proof: "The DPoP proof is missing or invalid.",
  use_dpop_nonce: "The DPoP proof must contain the nonce of the DPoP-Nonce header.",
  insufficient_scope: "The access token lacks a required scope.",
  insufficient_user_authentication: "The user must authenticate again.",
};

/** The reason why the validator's result is not accepted. The result of an application's own validator is checked like the provider's. */
function findFault(
  validation: TokenValidation<unknown> | null,
  resource: string,
  nowSeconds: number,
): string | undefined {
  if (validation === null) return "the validator does not accept the token for this resource";
  const { audience, expiresAt, scope = [], userId, clientId } = validation;
  if (typeof audience !== "string" || !isSameResource(audience, resource)) return "the token has another audience";
  if (!Object.hasOwn(validation, "props")) return "the validator returned no props";
  if (expiresAt !== undefined && !(Number.isFinite(expiresAt) && expiresAt > nowSeconds))
    return "the token has expired";
  if (!Array.isArray(scope) || !scope.every(isScope)) return "the validator returned a malformed scope";
  const ids: readonly unknown[] = [userId, clientId];
  return ids.every((id) => id === undefined || typeof id === "string")
    ? undefined
    : "the validator returned a malformed id";
}

function hasEach(granted: readonly string[], required: readonly string[]): boolean {
  return required.every((scope) => granted.includes(scope));
}

/**
 * **The thumbprint of the certificate with which the client opened the connection**, as Cloudflare reports it in `request.cf` (RFC 8705 §3.1);
 * `undefined` without one. TLS has proven possession of its key; its issuer does not matter for a bound token.
 */
export function certificateThumbprint(request: Request): string | undefined {
  const { cf } = request as { readonly cf?: { readonly tlsClientAuth?: Readonly<Record<string, unknown>> } };
  const { certPresented, certRevoked, certFingerprintSHA256: fingerprint } = cf?.tlsClientAuth ?? {};
  if (
    certPresented !== "1" ||
    certRevoked === "1" ||
    typeof fingerprint !== "string" ||
    !/^[0-9a-f]{64}$/i.test(fingerprint)
  )
    return undefined;
  const bytes = fingerprint.match(/../g) ?? [];
  return encodeBase64Url(Uint8Array.from(bytes, (byte) => Number.parseInt(byte, 16)));
}
