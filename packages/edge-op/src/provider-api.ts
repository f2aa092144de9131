/** **A client of the provider's public and admin API** for scripts and tests: HTTP and JSON, without code of the Workers. */

export interface Credentials {
  readonly client_id: string;
  readonly client_secret: string;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed if it is JSON, else `undefined`; `text` is always set. */
  readonly body: Record<string, unknown>;
  readonly text: string;
}

export async function readResponse(response: Response): Promise<ApiResponse> {
  const text = await response.text();
  const isJson = /^application\/([a-z.+-]+\+)?json\b/.test(response.headers.get("content-type") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== "" ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}

/** `Authorization` header of HTTP Basic, form-encoded first (RFC 6749 §2.3.1). */
export function basicAuthorization({ client_id, client_secret }: Credentials): string {
  const encode = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return `Basic ${btoa(`${encode(client_id)}:${encode(client_secret)}`)}`;
}

export async function postForm(
  url: string,
  form: Readonly<Record<string, string>> | URLSearchParams,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiResponse> {
  return readResponse(
    await fetch(url, { method: "POST", body: new URLSearchParams(form), headers, redirect: "manual" }),
  );
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly response: ApiResponse;

  constructor(what: string, response: ApiResponse) {
    super(`${what}: ${response.status} ${response.text}`);
    this.response = response;
  }
}

/** **Calls the admin API** with a token that is renewed automatically. */
export class AdminApi {
  readonly #origin: string;
  readonly #credentials: Credentials;
  #callOrigin: string;
  #token: { readonly value: string; readonly expiresAtMs: number } | undefined;

  /** `origin` is the address of the provider; the issuer differs if a proxy is in front of it. */
  constructor(origin: string, credentials: Credentials) {
    this.#origin = origin;
    this.#callOrigin = origin;
    this.#credentials = credentials;
  }

  async #authorization(): Promise<string> {
    if (this.#token === undefined || Date.now() >= this.#token.expiresAtMs) {
      const response = await postForm(
        `${this.#origin}/token`,
        { grant_type: "client_credentials" },
        { authorization: basicAuthorization(this.#credentials) },
      );
      if (response.status !== 200) throw new ApiError("admin token", response);
      const lifetimeMs = Number(response.body.expires_in) * 1000;
      this.#token = { value: String(response.body.access_token), expiresAtMs: Date.now() + lifetimeMs / 2 };
    }
    return `Bearer ${this.#token.value}`;
  }

  /** A client with the same token at another origin, for example of one isolate of op-management. */
  at(origin: string): AdminApi {
    const api = new AdminApi(this.#origin, this.#credentials);
    api.#callOrigin = origin;
    return api;
  }

  /** The response with any status. `path` is below `/admin`. */
  async call(method: string, path: string, body?: unknown): Promise<ApiResponse> {
    const mediaType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const authorization = await this.#authorization();
    const init: RequestInit =
      body === undefined
        ? { method, headers: { authorization } }
        : { method, headers: { authorization, "content-type": mediaType }, body: JSON.stringify(body) };
    return readResponse(await fetch(`${this.#callOrigin}/admin${path}`, init));
  }

  /** The resource; throws {@link ApiError} unless the call succeeds. */
  async require(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await this.call(method, path, body);
    if (response.status < 200 || response.status > 299) throw new ApiError(`${method} /admin${path}`, response);
    return response.body;
  }
}
