import type { Catalog } from "@edge-op/pages/translator";
import { type MessageKey, messages } from "../pages/messages.ts";

const en = {
  "consent.title": "Allow access?",
  "consent.asks": "{client} would like to:",
  "consent.fromHost":
    "This application comes from {host}. It is not registered with this provider and has not been reviewed.",
  "consent.selfRegistered": "This application registered itself and has not been reviewed.",
  "consent.localOnly":
    "It runs on your device, and any program there can impersonate it. Allow it only if you just started it yourself.",
  "consent.toHost": "You will then be redirected to {host}.",
  "consent.toDevice": "You will then return to a program on this device.",
  "consent.allow": "Allow",
  "consent.deny": "Cancel",
  "consent.revocable": "You can withdraw this access at any time in",
  "consent.account": "your account",
} as const;

const de: Readonly<Record<keyof typeof en, string>> = {
  "consent.title": "Zugriff erlauben?",
  "consent.asks": "{client} möchte:",
  "consent.fromHost":
    "Diese Anwendung kommt von {host}. Sie ist hier nicht registriert, und niemand hier hat sie geprüft.",
  "consent.selfRegistered": "Diese Anwendung hat sich selbst registriert. Niemand hier hat sie geprüft.",
  "consent.localOnly":
    "Sie läuft auf Ihrem Gerät, und jedes Programm dort kann sich für sie ausgeben. Erlauben Sie es nur, wenn Sie sie gerade selbst gestartet haben.",
  "consent.toHost": "Danach gelangen Sie zu {host}.",
  "consent.toDevice": "Danach gelangen Sie zu einem Programm auf diesem Gerät.",
  "consent.allow": "Erlauben",
  "consent.deny": "Abbrechen",
  "consent.revocable": "Sie können diesen Zugriff jederzeit widerrufen, in",
  "consent.account": "Ihrem Konto",
};

export type ConsentText = keyof typeof en | MessageKey;

/** **Texts of the consent page**, with those that several pages share. */
export const consentMessages: Catalog<ConsentText> = { en: { ...messages.en, ...en }, de: { ...messages.de, ...de } };
