import type { ApiRoute } from "./api-call.ts";
import { scriptRoutes } from "./script-routes.ts";
import { storeRoutes } from "./store-routes.ts";
import { zoneRoutes } from "./zone-routes.ts";

/** Every call that the local API supports. */
export const apiRoutes: readonly ApiRoute[] = [...storeRoutes, ...zoneRoutes, ...scriptRoutes];
