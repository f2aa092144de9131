import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { KeyScheduleBindings } from "@edge-op/shared/keys/held-schedule";
import type { RevocationBindings } from "@edge-op/shared/revocation/revocation-view";

/** **Bindings of the front door**: the Workers behind it, and what `/jwks` is read from. No secret. */
export interface ServiceBindings {
  readonly AUTH: Fetcher;
  readonly TOKEN: Fetcher;
  readonly MANAGEMENT: Fetcher;
  readonly USERINFO: Fetcher;
}

export type FrontDoorEnv = SettingsVariables & ServiceBindings & KeyScheduleBindings & RevocationBindings;
