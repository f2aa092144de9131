import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import type { RevocationBindings } from "@edge-op/shared/leases/revocation-view";
import type { ChallengeBindings } from "@edge-op/shared/storage/challenges";

/** **Bindings of op-userinfo.** */
export type UserinfoEnv = SettingsVariables & KeyBindings & RevocationBindings & ChallengeBindings;
