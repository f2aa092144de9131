import type { Catalog } from "@edge-op/pages/translator";

const en = {
  since: "Access since {date}",
  fromHost: "from {host}",
  selfRegistered: "registered itself",
  selfRegisteredTimes: "registered itself {count} times",
} as const;

export type ApplicationsMessageKey = keyof typeof en;

const de: Readonly<Record<ApplicationsMessageKey, string>> = {
  since: "Zugriff seit {date}",
  fromHost: "von {host}",
  selfRegistered: "hat sich selbst registriert",
  selfRegisteredTimes: "hat sich {count}-mal selbst registriert",
};

/** **Texts of the list of applications.** */
export const applicationsMessages: Catalog<ApplicationsMessageKey> = { en, de };
