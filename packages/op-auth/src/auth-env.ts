import type { ClientAuthBindings } from "@edge-op/shared/callers/client-auth-isolate";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { ControlPlaneBindings } from "@edge-op/shared/control/commit-control-change";
import type { AuthorizationCodeBindings } from "@edge-op/shared/grants/authorization-codes";
import type { RefreshFamilyBindings } from "@edge-op/shared/grants/refresh-families";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import type { RevocationBindings } from "@edge-op/shared/leases/revocation-view";
import type { ChallengeBindings } from "@edge-op/shared/storage/challenges";
import type { StorageBindings } from "@edge-op/shared/storage/read-through";
import type { SessionBindings } from "@edge-op/shared/users/sessions";
import type { DeploymentVariables } from "./deployment.ts";

/** **The bindings and variables of op-auth** (packages/op-auth/wrangler.toml). */
export type AuthEnv = SettingsVariables &
  DeploymentVariables &
  ClientAuthBindings &
  KeyBindings &
  RevocationBindings &
  ControlPlaneBindings &
  StorageBindings &
  AuthorizationCodeBindings &
  ChallengeBindings &
  RefreshFamilyBindings &
  SessionBindings;
