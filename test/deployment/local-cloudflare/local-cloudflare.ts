import { mkdtempSync, rmSync } from "node:fs";
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { AccountState, Zone } from "./account-state.ts";
import { ApiFault, type ApiRequest } from "./api-call.ts";
import { apiRoutes } from "./api-routes.ts";
import { UploadedWorkers } from "./uploaded-workers.ts";

export interface RecordedCall {
  readonly method: string;
  /** The path without its query; ids are those of this run. */
  readonly path: string;
  readonly search: string;
  readonly body: unknown;
  readonly status: number;
}

export interface LocalCloudflareOptions {
  readonly accounts?: readonly string[];
  /** Names of zones of the first account. */
  readonly zones?: readonly string[];
}

/**
 * **A local Cloudflare**: the part of the API that `wrangler` and `npm run deploy` call, and the edge, which serves the uploaded Workers by routes,
 * custom domains and workers.dev. Every call is recorded; an unknown call is recorded too and returns 404.
 */
export class LocalCloudflare {
  readonly token = "local-token";
  readonly calls: RecordedCall[] = [];
  readonly accounts: AccountState[];
  readonly zones: Zone[];
  readonly workers: UploadedWorkers;
  /** Files of SQL that are to be carried out. */
  readonly uploads = new Map<string, string>();
  readonly #servers: Server[] = [];
  readonly #stateDir = mkdtempSync(join(tmpdir(), "local-cloudflare-"));
  /** Called before a call is carried out. */
  beforeCall: (call: Pick<RecordedCall, "method" | "path" | "body">) => Promise<void> = async () => undefined;
  /** Called after a call was carried out and before its response is sent; if it returns `true`, the response is lost. */
  beforeResponse: (call: RecordedCall) => Promise<boolean> | boolean = () => false;
  /** Calls that fail once in a way that clients do not retry: 403. */
  readonly #failures: { readonly method: string; readonly path: RegExp }[] = [];
  readonly #edgeFailures: string[] = [];
  #apiOrigin = "";
  #edgeOrigin = "";

  private constructor({ accounts = ["Example"], zones = ["example.com"] }: LocalCloudflareOptions) {
    this.accounts = accounts.map((name, index) => newAccount(name, index + 1));
    this.zones = zones.map((name, index) => newZone(name, index + 1, this.accounts[0]!.id));
    this.workers = new UploadedWorkers(this.#stateDir, () => this.accounts);
  }

  static async start(options: LocalCloudflareOptions = {}): Promise<LocalCloudflare> {
    const local = new LocalCloudflare(options);
    local.#apiOrigin = await local.#listen((request, response) => local.#api(request, response));
    local.#edgeOrigin = await local.#listen((request, response) => local.#edge(request, response));
    return local;
  }

  /** For `CLOUDFLARE_API_BASE_URL`. */
  get apiUrl(): string {
    return `${this.#apiOrigin}/client/v4`;
  }

  /** For `--origin`. */
  get edgeOrigin(): string {
    return this.#edgeOrigin;
  }

  get account(): AccountState {
    return this.accounts[0]!;
  }

  failOnce(method: string, path: RegExp): void {
    this.#failures.push({ method, path });
  }

  /** The next request of a path at any Worker is 500. */
  failRequestOnce(path: string): void {
    this.#edgeFailures.push(path);
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
    await this.workers.stop();
    rmSync(this.#stateDir, { recursive: true, force: true });
  }

  async #listen(serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>): Promise<string> {
    const server = createServer((request, response) => {
      serve(request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error));
      });
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async #api(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", this.#apiOrigin);
    const path = url.pathname.replace(/^\/client\/v4/, "");
    const method = incoming.method ?? "GET";
    const body = await readBody(incoming);
    await this.beforeCall({ method, path, body: summary(body) });
    const jurisdiction = String(incoming.headers["cf-r2-jurisdiction"] ?? "none");
    const request = { method, path, search: url.searchParams, jurisdiction, body };
    const { status, content } = await this.#respond(request, incoming);
    const call = { method, path, search: url.search, body: summary(body), status };
    this.calls.push(call);
    if (await this.beforeResponse(call)) {
      outgoing.destroy();
      return;
    }
    if (content instanceof Response)
      outgoing.writeHead(status, [...content.headers].flat()).end(Buffer.from(await content.arrayBuffer()));
    else outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(content));
  }

  async #respond(request: ApiRequest, { headers }: IncomingMessage): Promise<{ status: number; content: unknown }> {
    if (headers.authorization !== `Bearer ${this.token}` && !request.path.startsWith("/uploads/"))
      return fault(new ApiFault(401, 10000, "Authentication error"));
    const index = this.#failures.findIndex(({ method, path }) => method === request.method && path.test(request.path));
    if (index >= 0) {
      this.#failures.splice(index, 1);
      // What Cloudflare says of a token that lacks a permission.
      return fault(new ApiFault(403, 10000, "Authentication error"));
    }
    for (const { method, pattern, handle } of apiRoutes) {
      const match = method === request.method ? pattern.exec(request.path) : null;
      if (match === null) continue;
      try {
        const result = await handle(this, request, match.groups ?? {});
        if (result instanceof Response) return { status: result.status, content: result };
        const page = { page: 1, per_page: 100, count: 0, total_count: 0, total_pages: 1 };
        return { status: 200, content: { success: true, errors: [], messages: [], result, result_info: page } };
      } catch (error) {
        if (error instanceof ApiFault) return fault(error);
        throw error;
      }
    }
    return fault(new ApiFault(404, 7003, `No route for ${request.method} ${request.path}`));
  }

  /** The Worker that the platform would choose for a request: the longest route, else the custom domain, else workers.dev. */
  #portFor(host: string, path: string): number | undefined {
    const routes = this.zones
      .flatMap((zone) => zone.routes)
      .filter(({ pattern }) => matches(pattern, `${host}${path}`))
      .sort((a, b) => b.pattern.length - a.pattern.length);
    for (const account of this.accounts) {
      const routed = routes[0]?.script ?? account.domains.get(host)?.service ?? workersDevScript(account, host);
      const script = routed === undefined ? undefined : account.scripts.get(routed);
      if (script !== undefined) return script.port;
    }
    return undefined;
  }

  async #edge(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    await this.workers.ready();
    const port = this.#portFor(incoming.headers.host ?? "", incoming.url ?? "/");
    if (port === undefined) {
      outgoing.writeHead(530).end("no Worker has this host");
      return;
    }
    const failing = this.#edgeFailures.indexOf(incoming.url ?? "/");
    if (failing >= 0) {
      this.#edgeFailures.splice(failing, 1);
      outgoing.writeHead(500, { "content-type": "application/json" }).end("{}");
      return;
    }
    const options = { port, host: "127.0.0.1", method: incoming.method, path: incoming.url, headers: incoming.headers };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      incoming.pipe(httpRequest(options, resolve).once("error", reject));
    });
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  }
}

function newAccount(name: string, number: number): AccountState {
  return {
    id: String(number).repeat(32),
    name,
    subdomain: name.toLowerCase().replaceAll(/[^a-z]/g, ""),
    scripts: new Map(),
    databases: new Map(),
    namespaces: new Map(),
    queues: new Map(),
    domains: new Map(),
    buckets: new Map(),
    mtlsCertificates: [],
  };
}

function newZone(name: string, number: number, account: string): Zone {
  return {
    id: `z${String(number).repeat(31)}`,
    name,
    account,
    routes: [],
    dnsRecords: [],
    certificateHosts: new Map(),
  };
}

function fault({ status, code, message }: ApiFault) {
  const content = { success: false, errors: [{ code, message }], messages: [], result: null };
  return { status, content };
}

/** `*` matches everything, a query included; a pattern without one matches no query. */
function matches(pattern: string, url: string): boolean {
  const expression = pattern
    .split("*")
    .map((part) => part.replaceAll(/[.?+^$()[\]{}|\\]/g, "\\$&"))
    .join(".*");
  return new RegExp(`^${expression}$`).test(url);
}

function workersDevScript({ scripts, subdomain }: AccountState, host: string): string | undefined {
  const name = host.endsWith(`.${subdomain}.workers.dev`) ? host.split(".")[0] : undefined;
  return name !== undefined && scripts.get(name)?.subdomainEnabled === true ? name : undefined;
}

async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const content = await buffer(incoming);
  if (content.length === 0) return undefined;
  const type = incoming.headers["content-type"] ?? "";
  if (type.startsWith("multipart/form-data")) {
    return new Response(content, { headers: { "content-type": type } }).formData();
  }
  const text = content.toString("utf8");
  return type.includes("json") || /^[[{]/.test(text) ? (JSON.parse(text) as unknown) : text;
}

/** A summary of an upload: its metadata and the names of its modules. */
function summary(body: unknown): unknown {
  if (!(body instanceof FormData)) return body;
  const metadata = body.get("metadata");
  return {
    metadata: typeof metadata === "string" ? (JSON.parse(metadata) as unknown) : undefined,
    modules: [...body.keys()].filter((name) => name !== "metadata"),
  };
}
