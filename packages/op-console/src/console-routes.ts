import { auditPages } from "./audit/audit-pages.tsx";
import { brandingPages } from "./branding/branding-page.tsx";
import { clientPages } from "./clients/clients.ts";
import { heldPages } from "./held-records/held-record-pages.tsx";
import { issuerPages } from "./issuers/issuers.tsx";
import { keyPages } from "./keys/key-pages.tsx";
import { overviewRoutes } from "./overview/overview.tsx";
import { refusalPages } from "./refusals/refusal-pages.tsx";
import { resourcePages } from "./resources/resources.ts";
import { rolePages } from "./roles/roles.ts";
import type { ConsoleRoute } from "./serve/route.ts";
import { settingsPages } from "./settings/settings-page.tsx";
import { shardPages } from "./shards/shard-pages.tsx";
import { startPages } from "./start/start-pages.tsx";
import { userPages } from "./users/users.tsx";

/** **Every page and change of the console.** Paths of fixed names come before those with parameters. */
export const consoleRoutes: readonly ConsoleRoute[] = [
  ...overviewRoutes,
  ...startPages,
  ...clientPages,
  ...userPages,
  ...rolePages,
  ...resourcePages,
  ...issuerPages,
  ...keyPages,
  ...shardPages,
  ...heldPages,
  ...auditPages,
  ...refusalPages,
  ...settingsPages,
  ...brandingPages,
];
