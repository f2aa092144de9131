import type { ClientAuthBindings } from "@edge-op/shared/client-auth/authenticate-client";
import type { SettingsVariables } from "@edge-op/shared/http/settings";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import type { RevocationBindings } from "@edge-op/shared/revocation/revocation-view";
import type { AuthorizationCodeBindings } from "@edge-op/shared/storage/authorization-codes";
import type { StorageBindings } from "@edge-op/shared/storage/read-through";
import type { RefreshFamilyBindings } from "@edge-op/shared/tokens/refresh-families";

/** **What op-token is bound to** (packages/op-token/wrangler.toml). */
export type TokenEnv = SettingsVariables &
  ClientAuthBindings &
  KeyBindings &
  RevocationBindings &
  StorageBindings &
  AuthorizationCodeBindings &
  RefreshFamilyBindings;
