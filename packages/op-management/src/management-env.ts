import type { ClientAuthBindings } from "@edge-op/shared/callers/client-auth-isolate";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import type { AuthorizationCodeBindings } from "@edge-op/shared/grants/authorization-codes";
import type { RefreshFamilyBindings } from "@edge-op/shared/grants/refresh-families";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import type { RevocationBindings } from "@edge-op/shared/leases/revocation-view";
import type { FactsBindings } from "@edge-op/shared/secrets/deployment-facts";
import type { StorageBindings } from "@edge-op/shared/storage/read-through";
import type { SessionBindings } from "@edge-op/shared/users/sessions";

/** **The bindings of op-management** (packages/op-management/wrangler.toml). */
export type ManagementEnv = SettingsVariables &
  ClientAuthBindings &
  KeyBindings &
  RevocationBindings &
  StorageBindings &
  RefreshFamilyBindings &
  SessionBindings &
  AuthorizationCodeBindings &
  FactsBindings & {
    readonly CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc>;
    readonly AUDIT_DB: D1Database;
  };
