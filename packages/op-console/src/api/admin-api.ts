import { type FieldError, OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { ConsoleCall } from "./console-call.ts";

/** The scopes of the admin API that pages need. */
export type AdminScope =
  | "admin:clients"
  | "admin:issuers"
  | "admin:users"
  | "admin:keys"
  | "admin:shards"
  | "admin:audit";

/** The permissions of a member that pages of their own organisation need. */
export type MemberPermission = "org:members" | "org:connection" | "org:scim" | "org:settings";

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/admin`, or below the organisation. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** The version that is changed. */
  readonly ifMatch?: string | undefined;
  /** Creates, and replaces nothing (`If-None-Match: *`). */
  readonly isNew?: boolean;
}

export interface ApiResult<Body> {
  readonly body: Body;
  readonly etag: string | undefined;
}

/** The admin API refuses the token: the sign-in has ended. */
export class SignInEnded extends Error {
  override readonly name = "SignInEnded";
}

/** The admin API refuses a change, or the input of a page: 400, 409 and 412. Its texts are in English. */
export class ChangeRefused extends Error {
  override readonly name = "ChangeRefused";
  readonly status: number;
  readonly fields: readonly FieldError[];

  constructor(status: number, description: string, fields: readonly FieldError[] = []) {
    super(description);
    this.status = status;
    this.fields = fields;
  }
}

/**
 * **The admin API, or that of an organisation, with the token of the person who is signed in.** The console can do nothing that this token cannot do
 * anywhere else.
 */
export class AdminApi {
  readonly #at: ConsoleCall;
  readonly #token: string;
  readonly #below: string;

  /** `below`: the path of the API; that of a member's own organisation is `/organizations/{org_id}`. */
  constructor(at: ConsoleCall, token: string, below = "/admin") {
    this.#at = at;
    this.#token = token;
    this.#below = below;
  }

  async get<Body>(path: string, query: ApiRequest["query"] = {}): Promise<Body> {
    return (await this.send<Body>({ method: "GET", path, query })).body;
  }

  /** Whether there is a record of this path. */
  async has(path: string): Promise<boolean> {
    try {
      await this.get(path);
      return true;
    } catch (error) {
      if (error instanceof OAuthError && error.code === "not_found") return false;
      throw error;
    }
  }

  async send<Body>({ method, path, query = {}, body, ifMatch, isNew }: ApiRequest): Promise<ApiResult<Body>> {
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : [])),
    );
    const url = `${this.#at.context.settings.issuer}${this.#below}${path}${search.size === 0 ? "" : `?${search}`}`;
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#token}` };
    if (body !== undefined) {
      headers["Content-Type"] = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    }
    if (ifMatch) headers["If-Match"] = ifMatch;
    if (isNew) headers["If-None-Match"] = "*";
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await this.#at.call("MANAGEMENT", url, init);
    if (!response.ok) throw await failureOf(response);
    const text = await response.text();
    return {
      body: (text === "" ? undefined : JSON.parse(text)) as Body,
      etag: response.headers.get("etag") ?? undefined,
    };
  }
}

interface ErrorBody {
  readonly error_description?: string;
  readonly fields?: readonly FieldError[];
}

async function failureOf(response: Response): Promise<Error> {
  const { status } = response;
  const text = await response.text();
  if (status === 401) return new SignInEnded();
  if (status === 403) return new OAuthError("insufficient_scope", "scope-insufficient");
  if (status === 404) return new OAuthError("not_found", "page-unknown");
  if (status >= 500 || status === 429 || status === 408) return new UnavailableError("Worker MANAGEMENT", status);
  const { error_description: description = "", fields } = readError(text);
  return new ChangeRefused(status, description, fields);
}

function readError(text: string): ErrorBody {
  try {
    return JSON.parse(text) as ErrorBody;
  } catch {
    return {};
  }
}
