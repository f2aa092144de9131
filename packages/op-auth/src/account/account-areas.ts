/** **The four pages of a person's account**, by what people look for. */
export const accountPages = {
  you: "/account",
  security: "/account/security",
  applications: "/account/applications",
  activity: "/account/activity",
} as const;

/** The paths of their forms that the routes and the pages name. */
export const primaryPath = "/account/address/primary";
export const removePath = "/account/address/remove";
export const namePath = "/account/name";
export const ownLanguagePath = "/account/language";
export const ownStopPath = "/account/recovery";

export type AccountArea = keyof typeof accountPages;

/** What follows `/account/` in the paths of an area. */
const parts: Readonly<Record<string, AccountArea>> = {
  ...{ security: "security", password: "security", passkeys: "security", apps: "security", factors: "security" },
  ...{ "recovery-codes": "security", identities: "security" },
  ...{ applications: "applications", consents: "applications", sessions: "applications" },
  ...{ activity: "activity", data: "activity", delete: "activity" },
};

/** The page that links to a path or has its form. Pure. */
export function pageOf(path: string): string {
  const part = /^\/account\/([^/?]+)/.exec(path)?.[1] ?? "";
  return accountPages[(Object.hasOwn(parts, part) && parts[part]) || "you"];
}
