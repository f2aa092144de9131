import { randomBytes } from "node:crypto";
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";

/** The data that a client stores between its runs, including tokens. */
export interface SavedAuthorization {
  /** The `client_id` that the client was given; `undefined` if the SDK registers it. */
  clientId?: string | undefined;
  client?: StoredOAuthClientInformation | undefined;
  tokens?: StoredOAuthTokens | undefined;
  codeVerifier?: string | undefined;
  state?: string | undefined;
  discovery?: OAuthDiscoveryState | undefined;
}

export interface ClientSettings {
  readonly redirectUrl: string;
  /** Without it, the SDK registers the client. */
  readonly clientId?: string | undefined;
  /** The issuer where the client is registered; the client id is sent to no other authorization server. */
  readonly issuer?: string | undefined;
}

export interface AuthorizationStore {
  load(): SavedAuthorization;
  save(saved: SavedAuthorization): void;
}

/**
 * **The OAuth half of an MCP client**, as the SDK requires it: a native application without a secret. Its `client_id` is that of a manual
 * registration or the URL of its metadata document; without one, the SDK registers the client.
 */
export class ClientAuthorization implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly #store: AuthorizationStore;
  readonly #given: StoredOAuthClientInformation | undefined;
  #authorizationUrl: URL | undefined;

  constructor(store: AuthorizationStore, { redirectUrl, clientId, issuer }: ClientSettings) {
    this.#store = store;
    if (clientId !== undefined) this.#given = { client_id: clientId, ...(issuer === undefined ? {} : { issuer }) };
    // Another client's tokens are useless.
    if (store.load().clientId !== clientId) store.save({ clientId });
    this.redirectUrl = redirectUrl;
    this.clientMetadata = {
      client_name: "Notes on the command line",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    };
  }

  /** The URL to which the user is sent after the SDK has thrown `UnauthorizedError`. */
  get authorizationUrl(): URL {
    if (this.#authorizationUrl === undefined) throw new Error("no authorization is under way");
    return this.#authorizationUrl;
  }

  state(): string {
    const state = randomBytes(16).toString("base64url");
    this.#change({ state });
    return state;
  }

  /** Checks `state`, which the SDK does not. */
  checkState(callback: URLSearchParams): void {
    const { state } = this.#store.load();
    if (state === undefined || callback.get("state") !== state) throw new Error("the callback has another state");
    this.#change({ state: undefined });
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#store.load().client ?? this.#given;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#change({ client });
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#store.load().tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#change({ tokens });
  }

  redirectToAuthorization(authorizationUrl: URL): void {
    this.#authorizationUrl = authorizationUrl;
  }

  saveCodeVerifier(codeVerifier: string): void {
    this.#change({ codeVerifier });
  }

  codeVerifier(): string {
    const { codeVerifier } = this.#store.load();
    if (codeVerifier === undefined) throw new Error("no authorization is under way");
    return codeVerifier;
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#change({ discovery });
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#store.load().discovery;
  }

  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    const all = scope === "all";
    this.#change({
      ...(all || scope === "client" ? { client: undefined } : {}),
      ...(all || scope === "tokens" ? { tokens: undefined } : {}),
      ...(all || scope === "verifier" ? { codeVerifier: undefined } : {}),
      ...(all || scope === "discovery" ? { discovery: undefined } : {}),
    });
  }

  #change(changes: SavedAuthorization): void {
    this.#store.save({ ...this.#store.load(), ...changes });
  }
}
