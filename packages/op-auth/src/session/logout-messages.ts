import type { Catalog } from "@edge-op/pages/translator";
import { type MessageKey, messages } from "../pages/messages.ts";

const en = {
  "logout.title": "Sign out?",
  "logout.text": "You will be signed out of {provider} and of the applications you used with it.",
  "logout.asked": "{client} has requested to sign you out.",
  "logout.fault": "The request of the application has a mistake, so you will not be taken back to it.",
  "logout.submit": "Sign out",
  "logout.stay": "Stay signed in",
  "loggedOut.title": "You are signed out",
  "loggedOut.text": "You can close this window.",
  "loggedOut.returning": "You are being signed out of your applications and redirected back.",
  "loggedOut.applications":
    "You are also being signed out of your applications. You can close this window in a moment.",
  "loggedOut.again": "Sign in again",
  "stayed.title": "You are still signed in",
  "stayed.text": "Nothing was changed. You can close this window.",
} as const;

const de: Readonly<Record<keyof typeof en, string>> = {
  "logout.title": "Abmelden?",
  "logout.text": "Sie werden bei {provider} und den damit genutzten Anwendungen abgemeldet.",
  "logout.asked": "{client} möchte Sie abmelden.",
  "logout.fault": "Die Anfrage der Anwendung ist fehlerhaft, deshalb werden Sie nicht zu ihr zurückgeleitet.",
  "logout.submit": "Abmelden",
  "logout.stay": "Angemeldet bleiben",
  "loggedOut.title": "Sie sind abgemeldet",
  "loggedOut.text": "Sie können dieses Fenster schließen.",
  "loggedOut.returning": "Sie werden bei Ihren Anwendungen abgemeldet und zurückgeleitet.",
  "loggedOut.applications":
    "Sie werden auch bei Ihren Anwendungen abgemeldet. Sie können dieses Fenster gleich schließen.",
  "loggedOut.again": "Wieder anmelden",
  "stayed.title": "Sie sind weiterhin angemeldet",
  "stayed.text": "Es wurde nichts geändert. Sie können dieses Fenster schließen.",
};

export type LogoutText = keyof typeof en | MessageKey;

/** **Texts of the logout pages**, with those that several pages share. */
export const logoutMessages: Catalog<LogoutText> = { en: { ...messages.en, ...en }, de: { ...messages.de, ...de } };
