import type { FrontDoorEnv } from "@edge-op/workers/env";
import type { Owner } from "@edge-op/workers/paths";

/** The Workers behind the front door. */
export type ServiceBindings = Pick<FrontDoorEnv, Owner>;

/** The bindings for the front door's own paths. */
export type OwnPathsEnv = Omit<FrontDoorEnv, Owner>;
