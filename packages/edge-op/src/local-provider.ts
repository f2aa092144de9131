import { type LocalProvider, type LocalProviderOptions, runProvider } from "./run-provider.ts";
import { sourceBuilds } from "./source-builds.ts";

export type { LocalProvider, LocalProviderOptions } from "./run-provider.ts";

/** **Starts a local provider with the Workers of this repository**, built from their sources. */
export function startLocalProvider(options: LocalProviderOptions = {}): Promise<LocalProvider> {
  return runProvider(sourceBuilds, options);
}
