import type { LocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import { type ApiResponse, postForm } from "../../packages/edge-op/src/provider-api.ts";
import type { ProviderFixtures, TestClient } from "../conformance/fixtures/provider-fixtures.ts";
import { proxiedFetch } from "../conformance/fixtures/proxied-fetch.ts";
import type { endpointWorkers } from "./previous-release.ts";

/** **The endpoint Workers of one release**, each on its own socket, on the objects that both releases share. */
export class Side {
  readonly release: string;
  readonly #origins: Readonly<Record<(typeof endpointWorkers)[number], string>>;
  readonly #fixtures: ProviderFixtures;
  readonly #fetch: typeof fetch;

  /** `suffix` is that of the isolates: "" or "#2". */
  constructor(release: string, provider: LocalProvider, fixtures: ProviderFixtures, suffix: string) {
    this.release = release;
    const originOf = (name: (typeof endpointWorkers)[number]) => provider.direct[`${name}${suffix}`]!;
    this.#origins = {
      "op-token": originOf("op-token"),
      "op-management": originOf("op-management"),
      "op-userinfo": originOf("op-userinfo"),
      "op-auth": originOf("op-auth"),
    };
    this.#fixtures = fixtures;
    this.#fetch = proxiedFetch(provider.issuer, this.#origins["op-auth"]);
  }

  /** A browser's request to op-auth. */
  visit(...request: Parameters<typeof fetch>): Promise<Response> {
    return this.#fetch(...request);
  }

  token({ authorization }: TestClient, form: Readonly<Record<string, string>>): Promise<ApiResponse> {
    return postForm(`${this.#origins["op-token"]}/token`, form, { authorization });
  }

  refresh(client: TestClient, token: string | undefined): Promise<ApiResponse> {
    return this.token(client, { grant_type: "refresh_token", refresh_token: token ?? "" });
  }

  revoke({ authorization }: TestClient, token: string): Promise<ApiResponse> {
    return postForm(`${this.#origins["op-management"]}/revoke`, { token }, { authorization });
  }

  async isActive({ authorization }: TestClient, token: string): Promise<boolean> {
    const response = await postForm(`${this.#origins["op-management"]}/introspect`, { token }, { authorization });
    if (response.status !== 200) throw new Error(`introspection: ${response.status} ${response.text}`);
    return response.body["active"] === true;
  }

  async userinfoStatus(token: string): Promise<number> {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${this.#origins["op-userinfo"]}/userinfo`, { headers })).status;
  }

  /** Calls the admin API of this release; throws unless the call succeeds. */
  async admin(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const { admin } = this.#fixtures;
    return admin.at(this.#origins["op-management"]).require(method, path, body);
  }
}
