import { pageSettings } from "@edge-op/op-auth/runtime/deployment";
import type { Setting } from "@edge-op/shared/config/setting";
import { workerSettings } from "@edge-op/shared/config/settings";

/** **The settings that Workers read as variables**: every Worker's, and those of the pages. */
const settings: readonly Setting[] = [...Object.values(workerSettings), ...Object.values(pageSettings)];

/** A variable of the environment has a value that its setting does not accept. */
export class SettingError extends Error {
  override readonly name = "SettingError";
}

/** The settings in an environment, by the names of the Workers' variables. */
export function settingsFrom(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const given = settings.flatMap(({ variable, read }) => {
    const value = environment[variable];
    if (value === undefined || value === "") return [];
    try {
      read(value);
    } catch (error) {
      throw new SettingError(error instanceof Error ? error.message : String(error));
    }
    return [[variable, value] as const];
  });
  return Object.fromEntries(given);
}
