import type { EnvOf } from "@edge-op/workers/env";
import type { DeploymentVariables } from "./deployment.ts";

/** **The bindings and variables of op-auth**: those of the table of Workers, and the settings of the pages. */
export type AuthEnv = EnvOf<"op-auth"> & DeploymentVariables;
