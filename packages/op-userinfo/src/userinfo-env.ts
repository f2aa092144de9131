import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { ChallengeBindings } from "@edge-op/shared/grants/challenges";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import type { RevocationBindings } from "@edge-op/shared/revocation/revocation-view";

/** **Bindings of op-userinfo.** */
export type UserinfoEnv = SettingsVariables & KeyBindings & RevocationBindings & ChallengeBindings;
