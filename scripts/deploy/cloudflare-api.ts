export class CloudflareError extends Error {
  override readonly name = "CloudflareError";
  readonly status: number;
  readonly code: number | undefined;

  constructor(call: string, status: number, errors: readonly ApiFault[]) {
    const details = errors.map(({ code, message }) => `${message} [${code}]`).join("; ");
    super(`${call}: ${details === "" ? `status ${status}` : details}`);
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
  readonly result_info?: { readonly page?: number; readonly total_pages?: number };
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

  constructor(token: string, base = process.env["CLOUDFLARE_API_BASE_URL"] ?? "https://api.cloudflare.com/client/v4") {
    this.#token = token;
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

  async send<T>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<T> {
    return (await this.#call<T>(method, path, body)).result;
  }

  async #call<T>(method: string, path: string, body?: unknown): Promise<Envelope<T>> {
    for (let attempt = 1; ; attempt += 1) {
      const { status, envelope } = await this.#attempt<T>(method, path, body);
      if (envelope?.success === true) return envelope;
      // Only reads are repeated, because a write may have been carried out.
      if (method !== "GET" || attempt === attempts || (status < 500 && status !== 429)) {
        throw new CloudflareError(`${method} ${path}`, status, envelope?.errors ?? []);
      }
      await new Promise((resolve) => setTimeout(resolve, 1_000 * attempt));
    }
  }

  async #attempt<T>(method: string, path: string, body: unknown) {
    const init: RequestInit = {
      method,
      headers: { Authorization: `Bearer ${this.#token}`, "Content-Type": "application/json" },
      signal: AbortSignal.timeout(callMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    const response = await fetch(`${this.#base}${path}`, init);
    const text = await response.text();
    return { status: response.status, envelope: parseEnvelope<T>(text) };
  }
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
