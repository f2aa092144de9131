import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { grantKey } from "@edge-op/shared/objects/token-revocation-store";
import { randomBase64Url } from "@edge-op/shared/runtime/bytes";
import { shardStub } from "@edge-op/shared/sharding/call-object";
import { formatTokenId, parseTokenId, type ShardAddress } from "@edge-op/shared/sharding/shard-address";
import { type AccessTokenContent, signAccessToken } from "@edge-op/shared/tokens/access-token";
import { decodeJwt } from "jose";
import { call, origin, waitBriefly } from "../../../test/support/call.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import type { UserinfoEnv } from "../src/userinfo-env.ts";

/** **One isolate of op-userinfo**, with a signer for tokens as op-token would issue them. */
export const userinfoEnv = env as unknown as UserinfoEnv;

const address: ShardAddress = { generation: 1, region: "wnam", shard: 3 };

export class UserinfoWorld {
  readonly isolate = createIsolate();
  readonly app = createApp(this.isolate);

  async within<T>(work: (context: RequestContext<UserinfoEnv>) => Promise<T>): Promise<T> {
    const execution = createExecutionContext();
    const result = await work(createRequestContext(new Request(origin), userinfoEnv, execution));
    await waitBriefly(execution);
    return result;
  }

  /** A token of the client `app` for alice. */
  token(content: Partial<AccessTokenContent> = {}): Promise<string> {
    return this.within((context) => {
      const now = Math.floor(Date.now() / 1000);
      return signAccessToken(context, this.isolate, "ES256", {
        id: { address, grantId: randomBase64Url(16), random: randomBase64Url(12) },
        sub: "alice",
        clientId: "app",
        grantCreatedAtMs: Date.now(),
        audiences: [origin],
        scope: ["openid"],
        issuedAtSeconds: now,
        expiresAtSeconds: now + 300,
        forUser: true,
        ...content,
      });
    });
  }

  get(token: string, bindings = userinfoEnv): Promise<Response> {
    return call(this.app, bindings, "/userinfo", { headers: { authorization: `Bearer ${token}` } });
  }

  /** As /revoke of another Worker does. */
  async revokeGrantOf(token: string): Promise<void> {
    const id = parseTokenId(decodeJwt(token).jti!)!;
    await this.#shard().revoke(
      [
        {
          key: grantKey(id.grantId),
          untilMs: Date.now() + 600_000,
          operationId: formatTokenId(id),
          event: { type: "test.revoked", payload: {} },
        },
      ],
      true,
    );
  }

  /** As the admin API does: commit, then raise the control version, then answer. */
  async change(kind: "user" | "client", id: string, sql: string): Promise<void> {
    await userinfoEnv.DB.prepare(sql).run();
    const row = await userinfoEnv.DB.prepare(
      "INSERT INTO control_changes (kind, id, at_ms) VALUES (?1, ?2, 0) RETURNING version",
    )
      .bind(kind, id)
      .first<{ version: number }>();
    await this.#shard().raise({ cv: row!.version }, true);
  }

  #shard() {
    return shardStub(userinfoEnv.TOKEN_REVOCATION_STORE, "revocation", address, { shards: 8, hint: "wnam" });
  }
}
