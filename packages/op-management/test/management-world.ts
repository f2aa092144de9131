import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { randomBase64Url } from "@edge-op/shared/runtime/bytes";
import { newGrant } from "@edge-op/shared/sharding/new-grant";
import type { ShardAddress } from "@edge-op/shared/sharding/shard-address";
import { type AccessTokenContent, signAccessToken } from "@edge-op/shared/tokens/access-token";
import { formatSignedRefreshToken, sealFamily } from "@edge-op/shared/tokens/refresh-token";
import { type FormFields, origin, postForm, waitBriefly } from "../../../test/support/call.ts";
import type { SeededClient } from "../../../test/support/seed.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import type { ManagementEnv } from "../src/management-env.ts";

/** **One isolate of op-management**, with a signer for tokens as op-token would issue them. */
export const managementEnv = env as unknown as ManagementEnv;

export class ManagementWorld {
  readonly isolate = createIsolate();
  readonly app = createApp(this.isolate);

  /** Runs `work` in a request of its own. */
  async within<T>(work: (context: RequestContext<ManagementEnv>) => Promise<T>, bindings = managementEnv): Promise<T> {
    const execution = createExecutionContext();
    const result = await work(createRequestContext(new Request(origin), bindings, execution));
    await waitBriefly(execution);
    return result;
  }

  /** A token of `app` for alice and the resource server `api`, with a grant of its own. */
  token(content: Partial<AccessTokenContent> = {}): Promise<string> {
    return this.within(async (context) => {
      const grant = await newGrant(context, this.isolate);
      const now = Math.floor(Date.now() / 1000);
      return signAccessToken(context, this.isolate, "ES256", {
        id: { address: grant.address, grantId: grant.grantId, random: randomBase64Url(12) },
        sub: "alice",
        clientId: "app",
        grantCreatedAtMs: grant.grantCreatedAtMs,
        audiences: ["api"],
        scope: ["read"],
        issuedAtSeconds: now,
        expiresAtSeconds: now + 300,
        forUser: true,
        ...content,
      });
    });
  }

  /** A refresh token of alice, as op-token would issue it; no shard has its family. */
  refreshToken(address: ShardAddress): Promise<string> {
    return this.within(async ({ env }) => {
      const grant = { grantId: "lost", address, grantCreatedAtMs: Date.now() };
      const sealed = await sealFamily(env, { grant, sub: "alice" });
      return formatSignedRefreshToken(env, { address, sealed, version: 0 });
    });
  }

  post(path: string, fields: FormFields, basic: SeededClient, bindings = managementEnv): Promise<Response> {
    return postForm(this.app, bindings, path, fields, basic);
  }

  async introspect(token: string, caller: SeededClient, bindings = managementEnv): Promise<Record<string, unknown>> {
    const response = await this.post("/introspect", { token }, caller, bindings);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return response.json();
  }

  async revoke(token: string, client: SeededClient): Promise<number> {
    return (await this.post("/revoke", { token }, client)).status;
  }
}
