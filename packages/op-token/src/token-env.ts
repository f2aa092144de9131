import type { AuditKeeperBindings } from "@edge-op/shared/audit-log/admin-event";
import type { StorageBindings } from "@edge-op/shared/cache/read-through";
import type { ClientAuthBindings } from "@edge-op/shared/client-auth/client-auth-isolate";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { AuthorizationCodeBindings } from "@edge-op/shared/grants/authorization-codes";
import type { RefreshFamilyBindings } from "@edge-op/shared/grants/refresh-families";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import type { RevocationBindings } from "@edge-op/shared/revocation/revocation-view";

/** **Bindings of op-token** (packages/op-token/wrangler.toml). */
export type TokenEnv = SettingsVariables &
  ClientAuthBindings &
  KeyBindings &
  RevocationBindings &
  AuditKeeperBindings &
  StorageBindings &
  AuthorizationCodeBindings &
  RefreshFamilyBindings;
