import type { ClientAuthBindings } from "@edge-op/shared/client-auth/authenticate-client";
import type { SettingsVariables } from "@edge-op/shared/http/settings";
import type { KeyBindings } from "@edge-op/shared/keys/key-ring";
import type { RevocationBindings } from "@edge-op/shared/revocation/revocation-view";
import type { AuthorizationCodeBindings } from "@edge-op/shared/storage/authorization-codes";
import type { ChallengeBindings } from "@edge-op/shared/storage/challenges";
import type { StorageBindings } from "@edge-op/shared/storage/read-through";
import type { SessionBindings } from "@edge-op/shared/storage/sessions";
import type { DeploymentVariables } from "./deployment.ts";

/** **What op-auth is bound to** (packages/op-auth/wrangler.toml). */
export type AuthEnv = SettingsVariables &
  DeploymentVariables &
  ClientAuthBindings &
  KeyBindings &
  RevocationBindings &
  StorageBindings &
  AuthorizationCodeBindings &
  ChallengeBindings &
  SessionBindings;
