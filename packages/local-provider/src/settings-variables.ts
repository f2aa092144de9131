import { type SettingsVariables, settingDefinitions } from "@edge-op/shared/config/settings";

/** **The variables that every Worker reads**, and that must be the same in each. */
export const settingsVariables: readonly string[] = Object.keys(settingDefinitions);

/** The settings that an environment gives, by the names of the Workers' variables. */
export function settingsFrom(environment: Readonly<Record<string, string | undefined>>): Partial<SettingsVariables> {
  const given = settingsVariables.flatMap((name) => {
    const value = environment[name];
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given);
}
