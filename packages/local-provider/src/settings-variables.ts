import type { SettingsVariables } from "@edge-op/shared/config/settings";

/** A record, so that a setting which is added and not listed is a type error. */
const listed: Readonly<Record<keyof SettingsVariables, true>> = {
  ISSUER: true,
  REVOCATION_MODE: true,
  LEASE_MS: true,
  SERVER_TIMING: true,
  ACCESS_TOKEN_LIFETIME: true,
  ID_TOKEN_LIFETIME: true,
  ACCESS_TOKEN_ALG: true,
  ID_TOKEN_ALG: true,
  INTROSPECTION_CACHE: true,
  REFRESH_GRACE: true,
  REFRESH_REPLAYS: true,
  REFRESH_TOKEN_LIFETIME: true,
  TRUST_FORWARDED_HEADERS: true,
};

/** **The variables that every Worker reads**, and that must be the same in each. */
export const settingsVariables: readonly string[] = Object.keys(listed);

/** The settings that an environment gives, by the names of the Workers' variables. */
export function settingsFrom(environment: Readonly<Record<string, string | undefined>>): Partial<SettingsVariables> {
  const given = settingsVariables.flatMap((name) => {
    const value = environment[name];
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given);
}
