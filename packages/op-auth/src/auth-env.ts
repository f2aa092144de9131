import type { StorageBindings } from "@edge-op/shared/cache/read-through";
import type { ClientAuthBindings } from "@edge-op/shared/client-auth/client-auth-isolate";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { AuthorizationCodeBindings } from "@edge-op/shared/grants/authorization-codes";
import type { ChallengeBindings } from "@edge-op/shared/grants/challenges";
import type { RefreshFamilyBindings } from "@edge-op/shared/grants/refresh-families";
import type { SessionBindings } from "@edge-op/shared/grants/sessions";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import type { ControlPlaneBindings } from "@edge-op/shared/revocation/commit-control-change";
import type { RevocationBindings } from "@edge-op/shared/revocation/revocation-view";
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
