import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "overview.title": "Overview",
  "overview.text": "{provider} at {issuer}",
  "overview.events": "Newest changes and sign-ins",
  "overview.deployment": "Deployment",
  "overview.version": "Version",
  "overview.objects": "Objects that respond",
  "overview.held": "Records are refused since the database was restored, until somebody decides about them.",
  "overview.toHeld": "Held records",
  "overview.unreachable": "Objects that do not respond",
  "overview.keys": "Signing keys",
  "overview.until": "{state}, signs until {time}",
  "overview.none": "You have no permission of the admin API. Ask another administrator for a role that gives one.",
  "overview.permissions": "What you may administer",
  "overview.scopes": "Scopes",
} as const;

export type OverviewKey = keyof typeof en;

const de: Readonly<Record<OverviewKey, string>> = {
  "overview.title": "Übersicht",
  "overview.text": "{provider} unter {issuer}",
  "overview.events": "Neueste Änderungen und Anmeldungen",
  "overview.deployment": "Betrieb",
  "overview.version": "Version",
  "overview.objects": "Objekte, die antworten",
  "overview.held": "Seit die Datenbank zurückgesetzt wurde, sind Einträge gesperrt, bis jemand über sie entscheidet.",
  "overview.toHeld": "Zurückgehaltene Einträge",
  "overview.unreachable": "Objekte, die nicht antworten",
  "overview.keys": "Signaturschlüssel",
  "overview.until": "{state}, signiert bis {time}",
  "overview.none": "Sie haben keine Berechtigung der Admin-API. Bitten Sie andere um eine Rolle, die eine verleiht.",
  "overview.permissions": "Was Sie verwalten dürfen",
  "overview.scopes": "Scopes",
};

export const overviewMessages: Catalog<OverviewKey> = { en, de };
