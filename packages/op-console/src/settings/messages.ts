import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "settings.title": "Settings",
  "settings.text":
    "The settings with which the admin API runs. They belong to the deployment: change its file and deploy it. The change is then in force on every Worker.",
  "settings.set": "Set in this deployment",
  "settings.default": "With their defaults",
} as const;

export type SettingsKey = keyof typeof en;

const de: Readonly<Record<SettingsKey, string>> = {
  "settings.title": "Einstellungen",
  "settings.text":
    "Wie die Admin-API mit ihnen läuft. Sie gehören zum Deployment: Eine Änderung steht in dessen Datei und wird ausgeliefert; dann gilt sie in jedem Worker.",
  "settings.set": "In diesem Deployment gesetzt",
  "settings.default": "Mit ihren Vorgaben",
};

export const settingsMessages: Catalog<SettingsKey> = { en, de };
