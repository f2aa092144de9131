import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { FactsBindings } from "@edge-op/shared/secrets/deployment-facts";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import type { ValueOf } from "./binding.ts";
import type { BindingName, bindings, boundAs, SeparateWorker, workers } from "./workers.ts";

type Bound<W extends SeparateWorker> = (typeof workers)[W]["binds"][number];
type NameOf<B extends BindingName> = B extends keyof typeof boundAs ? (typeof boundAs)[B] : B;
type OptionalOf<B extends BindingName> = B extends BindingName
  ? (typeof bindings)[B] extends { readonly optional: true }
    ? B
    : never
  : never;

type Bindings<B extends BindingName> = {
  readonly [Each in Exclude<B, OptionalOf<B>> as NameOf<Each>]: ValueOf<(typeof bindings)[Each]>;
} & { readonly [Each in OptionalOf<B> as NameOf<Each>]?: ValueOf<(typeof bindings)[Each]> };

/** **The `env` of a Worker's code**: settings, bindings and, if it has them, secrets. */
export type EnvOf<W extends SeparateWorker> = SettingsVariables &
  Bindings<Bound<W>> &
  FactsBindings &
  ((typeof workers)[W]["hasSecrets"] extends true ? MasterKeyBindings : unknown);

export type TokenEnv = EnvOf<"op-token">;
export type ManagementEnv = EnvOf<"op-management">;
export type UserinfoEnv = EnvOf<"op-userinfo">;
export type ConsoleBindings = EnvOf<"op-console">;
export type FrontDoorEnv = EnvOf<"op">;
