import { describeLack } from "./permissions.ts";

export class CloudflareError extends Error {
  override readonly name = "CloudflareError";
  readonly status: number;
  readonly code: number | undefined;

  constructor(call: string, status: number, errors: readonly ApiFault[]) {
    const details = errors.map(({ code, message }) => `${message} [${code}]`).join("; ");
    const lack = status === 403 ? `. ${describeLack(call.replace(/^\w+ /, ""))}` : "";
    super(`${call}: ${details === "" ? `status ${status}` : details}${lack}`);
    this.status = status;
    this.code = errors[0]?.code;
  }
}

interface ApiFault {
  readonly code: number;
  readonly message: string;
}

interface Envelope<T> {
  readonly success: boolean;
  readonly result: T;
  readonly errors?: readonly ApiFault[];
  readonly result_info?: {
    readonly page?: number;
    readonly total_pages?: number;
    readonly cursor?: string;
    readonly delimited?: readonly string[];
  };
}

const attempts = 3;
const callMs = 60_000;
const pageSize = 100;
/** A longer list does not belong to this account, or the API repeats itself. */
const mostPages = 50;

/**
 * **A client of Cloudflare's REST API**, for resources that are identified by ids and must be found again; `wrangler` uploads, migrates and sets
 * secrets. Both use `CLOUDFLARE_API_BASE_URL`. A call that is rate-limited or fails on Cloudflare's side is tried three times, 60 seconds each.
 *
 * @see https://developers.cloudflare.com/api/
 */
export class CloudflareApi {
  readonly #base: string;
  readonly #token: string;
  /** Of buckets: those of a jurisdiction are seen only by calls that name it. */
  readonly #jurisdiction: string | undefined;

  constructor(
    token: string,
    {
      base = process.env["CLOUDFLARE_API_BASE_URL"] ?? "https://api.cloudflare.com/client/v4",
      jurisdiction = "none",
    } = {},
  ) {
    this.#token = token;
    this.#jurisdiction = jurisdiction === "none" ? undefined : jurisdiction;
    this.#base = base.replace(/\/$/, "");
  }

  get<T>(path: string): Promise<T> {
    return this.#call<T>("GET", path).then(({ result }) => result);
  }

  /** `undefined` if it does not exist. */
  async find<T>(path: string): Promise<T | undefined> {
    try {
      return await this.get<T>(path);
    } catch (error) {
      if (error instanceof CloudflareError && error.status === 404) return undefined;
      throw error;
    }
  }

  async list<T>(path: string): Promise<T[]> {
    const found: T[] = [];
    for (let page = 1; page <= mostPages; page += 1) {
      const separator = path.includes("?") ? "&" : "?";
      const { result, result_info: info } = await this.#call<T[]>(
        "GET",
        `${path}${separator}page=${page}&per_page=${pageSize}`,
      );
      found.push(...(result ?? []));
      const isLast = info?.total_pages === undefined ? (result ?? []).length < pageSize : page >= info.total_pages;
      if (isLast) break;
    }
    return found;
  }

  /** The folders of a bucket below a prefix, in order. */
  async listPrefixes(path: string, prefix: string): Promise<string[]> {
    const found = new Set<string>();
    let cursor = "";
    for (let page = 1; page <= mostPages; page += 1) {
      const query = new URLSearchParams({ prefix, delimiter: "/", ...(cursor === "" ? {} : { cursor }) });
      const { result_info: info } = await this.#call<unknown>("GET", `${path}?${query}`);
      for (const each of info?.delimited ?? []) found.add(each);
      cursor = info?.cursor ?? "";
      if (cursor === "") break;
    }
    return [...found].sort();
  }

  /** An object of a bucket; `undefined` if it does not exist. */
  async download(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.#fetch("GET", path, undefined);
      if (response.ok) return new Uint8Array(await response.arrayBuffer());
      if (response.status === 404) return undefined;
      const envelope = parseEnvelope<null>(await response.text());
      await waitOrThrow(attempt, new CloudflareError(`GET ${path}`, response.status, envelope?.errors ?? []));
    }
  }

  /** The same without a jurisdiction. */
  outside(): CloudflareApi {
    return new CloudflareApi(this.#token, { base: this.#base });
  }

  async send<T>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<T> {
    return (await this.#call<T>(method, path, body)).result;
  }

  async #call<T>(method: string, path: string, body?: unknown): Promise<Envelope<T>> {
    for (let attempt = 1; ; attempt += 1) {
      const { status, envelope } = await this.#attempt<T>(method, path, body);
      if (envelope?.success === true) return envelope;
      const error = new CloudflareError(`${method} ${path}`, status, envelope?.errors ?? []);
      // Only reads are repeated, because a write may have been carried out.
      if (method !== "GET") throw error;
      await waitOrThrow(attempt, error);
    }
  }

  async #attempt<T>(method: string, path: string, body: unknown) {
    const response = await this.#fetch(method, path, body);
    return { status: response.status, envelope: parseEnvelope<T>(await response.text()) };
  }

  #fetch(method: string, path: string, body: unknown): Promise<Response> {
    const init: RequestInit = {
      method,
      headers: {
        ...{ Authorization: `Bearer ${this.#token}`, "Content-Type": "application/json" },
        ...(this.#jurisdiction !== undefined && path.includes("/r2/")
          ? { "cf-r2-jurisdiction": this.#jurisdiction }
          : {}),
      },
      signal: AbortSignal.timeout(callMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    return fetch(`${this.#base}${path}`, init);
  }
}

async function waitOrThrow(attempt: number, error: CloudflareError): Promise<void> {
  if (attempt === attempts || (error.status < 500 && error.status !== 429)) throw error;
  await new Promise((resolve) => setTimeout(resolve, 1_000 * attempt));
}

/** `undefined` for anything except the API's JSON, such as a proxy's error page. */
function parseEnvelope<T>(text: string): Envelope<T> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null && "success" in parsed ? (parsed as Envelope<T>) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
