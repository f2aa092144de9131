import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { KeyScheduleBindings } from "@edge-op/shared/keys/held-schedule";
import type { RevocationBindings } from "@edge-op/shared/leases/revocation-view";

/** **Bindings of the front door**: what `/jwks` is read from, and the Workers behind it. No secret. */
export interface ServiceBindings {
  readonly AUTH: Fetcher;
  readonly TOKEN: Fetcher;
  readonly MANAGEMENT: Fetcher;
  readonly USERINFO: Fetcher;
}

/** The Workers that own paths. */
export type Owner = keyof ServiceBindings;

/** What the front door's own paths use. */
export type OwnPathsEnv = SettingsVariables & KeyScheduleBindings & RevocationBindings;

export type FrontDoorEnv = OwnPathsEnv & ServiceBindings;
