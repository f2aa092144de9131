import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { ControlView } from "@edge-op/shared/cache/control-view";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import { RefreshFamilies, type RefreshFamilyBindings, type Rotation } from "@edge-op/shared/grants/refresh-families";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import type {
  RefreshFamily,
  RefreshTokenRotatorRpc,
  RotateRequest,
} from "@edge-op/shared/objects/refresh-token-rotator";
import { grantKey, type RevocationShard } from "@edge-op/shared/objects/token-revocation-store";
import type { GrantIdentity } from "@edge-op/shared/sharding/new-grant";
import { objectName, parseRefreshToken, type ShardAddress } from "@edge-op/shared/sharding/shard-address";
import { ShardMap } from "@edge-op/shared/sharding/shard-map";
import { readRefreshToken } from "@edge-op/shared/tokens/refresh-token";

/** **Refresh families as several isolates use them**, on the real object, over calls that get lost. */
type WorldEnv = RefreshFamilyBindings &
  SettingsVariables & { readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard> };

export const worldEnv = env as unknown as WorldEnv;

/** A call that fails: before the object hears of it, or after it has answered. */
export interface LostCall {
  readonly index: number;
  readonly when: "before" | "after";
}

/** Bindings whose `lost.index`-th call of a rotator fails. */
function losing(lost: LostCall | undefined): WorldEnv {
  if (lost === undefined) return worldEnv;
  let calls = 0;
  const lose = <T extends object>(stub: T): T =>
    new Proxy(stub, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name, target);
        if (typeof method !== "function") return method;
        return async (...args: unknown[]) => {
          const index = calls++;
          if (index === lost.index && lost.when === "before") throw new Error("call lost");
          const reply: unknown = await Reflect.apply(method, target, args);
          if (index === lost.index) throw new Error("reply lost");
          return reply;
        };
      },
    });
  const namespace = new Proxy(worldEnv.REFRESH_TOKEN_ROTATOR, {
    get(target, name) {
      if (name === "getByName") {
        return (...args: Parameters<typeof target.getByName>) => lose(target.getByName(...args));
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { ...worldEnv, REFRESH_TOKEN_ROTATOR: namespace };
}

export interface UseOptions {
  readonly clientId?: string;
  readonly scope?: readonly string[];
  readonly resources?: readonly string[];
  readonly lost?: LostCall;
  readonly grace?: number;
  readonly replays?: number;
  /** Of an earlier call of the same request. */
  readonly context?: RequestContext<WorldEnv>;
}

/** One isolate: what it knows of the generations is its own. */
export class Isolate {
  readonly families = new RefreshFamilies(new ShardMap(new ControlView()));

  context(options: UseOptions = {}): RequestContext<WorldEnv> {
    const { grace = 30, replays = 5, lost } = options;
    const bindings = { ...losing(lost), REFRESH_GRACE: String(grace), REFRESH_REPLAYS: String(replays) };
    return createRequestContext(new Request("https://op.example.com/token"), bindings, {
      waitUntil: (promise) => void promise.catch(() => undefined),
    });
  }

  create(family: RefreshFamily): Promise<string> {
    return this.families.create(this.context(), family, {
      scope: family.scope,
      resources: family.resources,
      accessToken: accessToken("first"),
    });
  }

  async use(text: string, options: UseOptions = {}): Promise<Rotation> {
    const context = options.context ?? this.context(options);
    const token = await readRefreshToken(context, text);
    if (token === undefined) throw new Error("not a token of ours");
    return this.families.rotate(context, token, {
      clientId: options.clientId ?? "app",
      cnf: undefined,
      scope: options.scope,
      resources: options.resources,
      accessToken: accessToken(crypto.randomUUID()),
    });
  }
}

function accessToken(jti: string): RotateRequest["accessToken"] {
  return { jti, iatSeconds: Math.floor(Date.now() / 1000), expSeconds: Math.floor(Date.now() / 1000) + 3600 };
}

let grants = 0;

export function newFamily(change: Partial<RefreshFamily> = {}): RefreshFamily {
  grants += 1;
  const grant: GrantIdentity = {
    grantId: `grant-${grants}`,
    address: { generation: 1, region: "wnam", shard: 3 },
    grantCreatedAtMs: Date.now(),
  };
  return {
    grant,
    clientId: "app",
    sub: "alice",
    pairwiseSub: undefined,
    cnf: undefined,
    scope: ["openid", "email", "offline_access"],
    resources: ["https://a.example", "https://b.example"],
    expiresAtMs: Date.now() + 30 * 86_400_000,
    sid: "session",
    authTimeSeconds: 1_700_000_000,
    acr: "1",
    amr: ["pwd"],
    claims: undefined,
    ...change,
  };
}

export function rotatorAt(address: ShardAddress): DurableObjectStub<RefreshTokenRotatorRpc> {
  return worldEnv.REFRESH_TOKEN_ROTATOR.getByName(objectName("refresh", address));
}

export function rotatorOf(token: string): DurableObjectStub<RefreshTokenRotatorRpc> {
  return rotatorAt(parseRefreshToken(token)!.address);
}

export async function evict(token: string): Promise<void> {
  // Only what runs can be evicted.
  await rotatorOf(token).inspect("nobody");
  await evictDurableObject(rotatorOf(token));
}

export async function ring(rotator: DurableObjectStub<RefreshTokenRotatorRpc>): Promise<void> {
  await runDurableObjectAlarm(rotator);
}

/** Appends a generation of refresh shards, which isolates that are warm do not hear of. */
export async function openGeneration(generation: number): Promise<void> {
  await worldEnv.DB.prepare(
    `INSERT INTO shard_generations (store, generation, regions, minted_from_ms)
     VALUES ('refresh', ?1, '{"wnam":{"shards":2,"hint":"wnam"}}', 0)`,
  )
    .bind(generation)
    .run();
}

export async function isGrantRevoked({ address, grantId }: GrantIdentity): Promise<boolean> {
  const shard = worldEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", address));
  const { revoked } = await shard.check([grantKey(grantId)], [], -1);
  return revoked.includes(grantKey(grantId));
}
