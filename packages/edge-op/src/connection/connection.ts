import { setTimeout } from "node:timers/promises";
import { wireDescriptions } from "@edge-op/protocol/oauth/errors";
import { type Call, textOption } from "../console/command.ts";
import { Failure } from "../console/failure.ts";
import { type ApiResponse, readResponse } from "../provider-api.ts";
import { adminUrl, authorizeAgain, unreachable } from "./authorize.ts";
import { type Context, ContextStore } from "./contexts.ts";

/** A deletion has two rounds over all shards, each of which a lost isolate may delay by seconds. */
const responseMs = 60_000;
/** A token that expires sooner is replaced before it is used. */
const renewalSeconds = 30;
const mostAttempts = 3;

export interface ApiRequest {
  readonly method: string;
  /** Below `/admin`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/**
 * **The admin API of a context's deployment.** The access token is kept in the context until it expires, and replaced once if it is refused. A read
 * that finds the provider unavailable is repeated twice; a change is not, because it may have been made.
 */
export class Connection {
  readonly #store: ContextStore;
  readonly #name: string | undefined;
  #context: Context;

  constructor(store: ContextStore, name: string | undefined) {
    const found = store.find(name);
    this.#store = store;
    this.#name = found.name;
    this.#context = found.context;
  }

  get context(): Context {
    return this.#context;
  }

  get issuer(): string {
    return this.#context.issuer;
  }

  /** The response to an allowed request with a status of success. Throws `Failure` otherwise. */
  async send(request: ApiRequest): Promise<ApiResponse> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = await this.#sendAuthorized(request);
        if (response.status < 300) return response;
        throw failureOf(response);
      } catch (error) {
        const mayRepeat = request.method === "GET" && attempt < mostAttempts;
        if (!(mayRepeat && error instanceof Failure && error.outcome === "unavailable")) throw error;
        await setTimeout(attempt * 500);
      }
    }
  }

  /** The body of a resource, or `undefined` if there is none. */
  async find(path: string): Promise<ApiResponse | undefined> {
    try {
      return await this.send({ method: "GET", path });
    } catch (error) {
      if (error instanceof Failure && error.outcome === "notFound") return undefined;
      throw error;
    }
  }

  async #sendAuthorized(request: ApiRequest): Promise<ApiResponse> {
    const { tokens } = this.#context;
    const isKnown = tokens !== undefined && tokens.expires_at - renewalSeconds > Date.now() / 1000;
    const response = await this.#fetch(request, isKnown ? tokens.access_token : await this.#renew());
    if (!isKnown || response.status !== 401) return response;
    return this.#fetch(request, await this.#renew());
  }

  async #renew(): Promise<string> {
    const { tokens } = await authorizeAgain(this.#context);
    this.#context = { ...this.#context, tokens };
    if (this.#name !== undefined) this.#store.save(this.#name, this.#context);
    return tokens.access_token;
  }

  async #fetch(
    { method, path, query = {}, body, ifMatch, ifNoneMatch }: ApiRequest,
    token: string,
  ): Promise<ApiResponse> {
    const search = new URLSearchParams(query).toString();
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (body !== undefined) {
      headers["content-type"] = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    }
    if (ifMatch !== undefined) headers["if-match"] = ifMatch;
    if (ifNoneMatch !== undefined) headers["if-none-match"] = ifNoneMatch;
    const url = `${adminUrl(this.issuer)}${path}${search === "" ? "" : `?${search}`}`;
    const init: RequestInit = { method, headers, redirect: "error", signal: AbortSignal.timeout(responseMs) };
    try {
      return await readResponse(await fetch(url, body === undefined ? init : { ...init, body: JSON.stringify(body) }));
    } catch (error) {
      throw unreachable(error) ?? error;
    }
  }
}

/** The connection of a command's context. */
export function connect(call: Pick<Call, "terminal" | "options">): Connection {
  return new Connection(new ContextStore(call.terminal.environment), textOption(call, "context"));
}

const outcomes: Readonly<Record<number, Failure["outcome"]>> = {
  401: "notSignedIn",
  403: "noRights",
  404: "notFound",
  408: "unavailable",
  412: "conflict",
  429: "unavailable",
};

interface WrongField {
  readonly path: string;
  readonly message: string;
}

/**
 * A taken id names its field, and a concurrent change has the fixed text. Every other 409 is a state that forbids the change, with its own text: the
 * same command fails again.
 */
function outcomeOfConflict({ error_description: description, fields }: ApiResponse["body"]): Failure["outcome"] {
  return Array.isArray(fields) || description === wireDescriptions.conflict ? "conflict" : "refused";
}

/** The failure that an error response describes. It contains the request id, by which the log and `edge-op why` find the request. */
function failureOf({ status, headers, body, text }: ApiResponse): Failure {
  const { error = `status ${status}`, error_description: description = text.slice(0, 200), fields } = body;
  const requestId = headers.get("request-id");
  const [, scope] = /scope="([^"]*)"/.exec(headers.get("www-authenticate") ?? "") ?? [];
  const lines = [
    `${String(error)}: ${String(description)}`,
    ...(status === 403 && scope !== undefined ? [`The scope ${scope} is required.`] : []),
    ...(Array.isArray(fields)
      ? (fields as WrongField[]).map(({ path, message }) => `  ${path === "" ? "" : `${path}: `}${message}`)
      : []),
    ...(requestId === null ? [] : [`Request: ${requestId}`]),
  ];
  const outcome =
    (status === 409 ? outcomeOfConflict(body) : outcomes[status]) ?? (status >= 500 ? "unavailable" : "refused");
  return new Failure(outcome, lines.join("\n"), {
    ...body,
    status,
    ...(requestId === null ? {} : { request_id: requestId }),
  });
}
