import { clientPages } from "./clients/client-pages.tsx";
import { overviewRoutes } from "./overview/overview.tsx";
import type { ConsoleRoute } from "./serve/route.ts";

/** **Every page and change of the console.** Paths of fixed names come before those with parameters. */
export const consoleRoutes: readonly ConsoleRoute[] = [...overviewRoutes, ...clientPages];
