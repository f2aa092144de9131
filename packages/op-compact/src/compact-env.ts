import type { OwnPathsEnv } from "@edge-op/op/front-door-env";
import type { AuthEnv } from "@edge-op/op-auth/runtime/auth-env";
import type { OwnEnv as ConsoleOwnEnv } from "@edge-op/op-console/console-env";
import type { ManagementEnv, TokenEnv, UserinfoEnv } from "@edge-op/workers/env";

/** **The bindings of the compact Worker** (wrangler.toml): those of all separate Workers, without the service bindings. */
export type CompactEnv = AuthEnv & ConsoleOwnEnv & ManagementEnv & OwnPathsEnv & TokenEnv & UserinfoEnv;
