import type { ClientMetadata } from "@edge-op/shared/directory/client";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import type { AuthorizationCodePayload } from "@edge-op/shared/objects/authorization-code-store";
import { newGrant } from "@edge-op/shared/sharding/new-grant";
import { type FormFields, postForm } from "../../../test/support/call.ts";
import { type SeededClient, seedClient, seedUser } from "../../../test/support/seed.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import type { TokenEnv } from "../src/token-env.ts";
import { tokenEnv } from "./token-world.ts";

/** RFC 7636 Appendix B. */
export const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
export const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
export const redirectUri = "https://app.example/cb";

/** **One isolate of op-token at which people who signed in elsewhere redeem codes and refresh.** */
export class LoginWorld {
  readonly isolate = createIsolate();
  readonly app = createApp(this.isolate);
  /** Those of the next request. */
  bindings: TokenEnv;

  constructor(bindings: TokenEnv = tokenEnv) {
    this.bindings = bindings;
  }

  post(fields: FormFields, client?: SeededClient): Promise<Response> {
    return postForm(this.app, this.bindings, "/token", fields, client);
  }

  /** What /authorize does once the user has agreed. */
  async authorize(change: Partial<AuthorizationCodePayload> = {}): Promise<string> {
    const context = createRequestContext(new Request("https://op.example.com/authorize"), this.bindings, {
      waitUntil: (promise) => void promise.catch(() => undefined),
    });
    return this.isolate.codes.issue(context, {
      grant: await newGrant(context, this.isolate),
      clientId: "app",
      redirectUri,
      codeChallenge: challenge,
      scope: ["openid", "email", "offline_access"],
      resources: [],
      nonce: "n-0S6_WzA2Mj",
      sub: "alice",
      pairwiseSub: undefined,
      sid: "session-1",
      authTimeSeconds: 1_700_000_000,
      acr: "urn:acr:1",
      amr: ["pwd"],
      claims: undefined,
      refreshable: true,
      ...change,
    });
  }

  redeem(code: string, client?: SeededClient, fields: FormFields = {}): Promise<Response> {
    const bound = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
    return this.post({ ...bound, ...fields }, client);
  }

  refresh(refreshToken: string, client?: SeededClient, fields: FormFields = {}): Promise<Response> {
    return this.post({ grant_type: "refresh_token", refresh_token: refreshToken, ...fields }, client);
  }

  async signIn(client: SeededClient, change: Partial<AuthorizationCodePayload> = {}): Promise<Tokens> {
    return tokensOf(await this.redeem(await this.authorize(change), client));
  }
}

export interface Tokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token: string;
  readonly id_token: string;
}

export async function tokensOf(response: Response): Promise<Tokens> {
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

export async function seedApp(metadata: Partial<ClientMetadata> = {}, clientId = "app"): Promise<SeededClient> {
  return seedClient(tokenEnv, clientId, {
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    redirect_uris: [redirectUri],
    scope: "openid email offline_access",
    ...metadata,
  });
}

export async function seedPeople(): Promise<void> {
  await seedUser(tokenEnv, "alice", {
    claims: { email: "alice@example.com", name: "Alice" },
    roles: ["editor"],
    groups: ["staff"],
  });
  await tokenEnv.DB.prepare(
    "INSERT INTO role_permissions (role, permission) VALUES ('editor', 'documents.write')",
  ).run();
  await seedUser(tokenEnv, "bob");
  await seedUser(tokenEnv, "mallory", { status: "suspended" });
}
