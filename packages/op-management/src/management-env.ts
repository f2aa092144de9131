import type { ClientAuthBindings } from "@edge-op/shared/client-auth/authenticate-client";
import type { SettingsVariables } from "@edge-op/shared/http/settings";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import type { ControlPlaneRpc } from "@edge-op/shared/revocation/control-plane";
import type { RevocationBindings } from "@edge-op/shared/revocation/revocation-view";
import type { StorageBindings } from "@edge-op/shared/storage/read-through";
import type { RefreshFamilyBindings } from "@edge-op/shared/tokens/refresh-families";

/** **What op-management is bound to** (packages/op-management/wrangler.toml). */
export type ManagementEnv = SettingsVariables &
  ClientAuthBindings &
  KeyBindings &
  RevocationBindings &
  StorageBindings &
  RefreshFamilyBindings & { readonly CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc> };
