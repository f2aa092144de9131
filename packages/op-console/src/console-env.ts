import type { BrandingVariables } from "@edge-op/pages/branding";
import type { ConsoleBindings } from "@edge-op/workers/env";

/** **The bindings and variables of op-console**: two Workers, no store, and the settings of the pages. */
export type ConsoleEnv = ConsoleBindings & BrandingVariables;

/** The Workers that the console calls. */
export type Callee = "TOKEN" | "MANAGEMENT";

/** The bindings that the console's own code reads. */
export type OwnEnv = Omit<ConsoleEnv, Callee>;
