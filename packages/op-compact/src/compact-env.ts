import type { OwnPathsEnv } from "@edge-op/op/front-door-env";
import type { AuthEnv } from "@edge-op/op-auth/auth-env";
import type { ManagementEnv } from "@edge-op/op-management/management-env";
import type { TokenEnv } from "@edge-op/op-token/token-env";
import type { UserinfoEnv } from "@edge-op/op-userinfo/userinfo-env";

/** **The bindings of the compact Worker** (wrangler.toml): those of all separate Workers, without the service bindings. */
export type CompactEnv = AuthEnv & ManagementEnv & OwnPathsEnv & TokenEnv & UserinfoEnv;
