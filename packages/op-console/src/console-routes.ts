import { auditPages } from "./audit/audit-pages.tsx";
import { brandingPages } from "./branding/branding-page.tsx";
import { clientChanges } from "./clients/client-changes.tsx";
import { clientPages } from "./clients/client-pages.tsx";
import { testSignIn } from "./clients/test-sign-in.tsx";
import { issuerPages } from "./issuers/issuer-pages.tsx";
import { keyPages } from "./keys/key-pages.tsx";
import { overviewRoutes } from "./overview/overview.tsx";
import { refusalPages } from "./refusals/refusal-pages.tsx";
import { resourcePages } from "./resources/resource-pages.tsx";
import { rolePages } from "./roles/role-pages.tsx";
import type { ConsoleRoute } from "./serve/route.ts";
import { settingsPages } from "./settings/settings-page.tsx";
import { shardPages } from "./shards/shard-pages.tsx";
import { startPages } from "./start/start-pages.tsx";
import { userChanges } from "./users/user-changes.ts";
import { userPages } from "./users/user-pages.tsx";

/** **Every page and change of the console.** Paths of fixed names come before those with parameters. */
export const consoleRoutes: readonly ConsoleRoute[] = [
  ...overviewRoutes,
  ...startPages,
  ...clientChanges,
  testSignIn,
  ...clientPages,
  ...userChanges,
  ...userPages,
  ...rolePages,
  ...resourcePages,
  ...issuerPages,
  ...keyPages,
  ...shardPages,
  ...auditPages,
  ...refusalPages,
  ...settingsPages,
  ...brandingPages,
];
