import { type SettingsVariables, workerSettings } from "@edge-op/shared/config/settings";

/** **The variables that every Worker reads**; all Workers need the same values. */
export const settingsVariables: readonly string[] = Object.values(workerSettings).map(({ variable }) => variable);

/** The settings in an environment, by the names of the Workers' variables. */
export function settingsFrom(environment: Readonly<Record<string, string | undefined>>): Partial<SettingsVariables> {
  const given = settingsVariables.flatMap((name) => {
    const value = environment[name];
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given);
}
