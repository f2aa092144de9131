import type { AuditKeeperBindings } from "@edge-op/shared/audit/admin-event";
import type { ClientAuthBindings } from "@edge-op/shared/callers/client-auth-isolate";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { AuthorizationCodeBindings } from "@edge-op/shared/grants/authorization-codes";
import type { RefreshFamilyBindings } from "@edge-op/shared/grants/refresh-families";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import type { RevocationBindings } from "@edge-op/shared/leases/revocation-view";
import type { StorageBindings } from "@edge-op/shared/storage/read-through";

/** **Bindings of op-token** (packages/op-token/wrangler.toml). */
export type TokenEnv = SettingsVariables &
  ClientAuthBindings &
  KeyBindings &
  RevocationBindings &
  AuditKeeperBindings &
  StorageBindings &
  AuthorizationCodeBindings &
  RefreshFamilyBindings;
