/** **Texts of the layout and of the error pages.** The texts of a Worker's own pages are defined in that Worker. */

import type { Catalog } from "./translator.ts";

const en = {
  "home.link": "Go to the start page",
  "notFound.title": "Page not found",
  "notFound.text": "There is no page at this address. Check the address, or go back.",
  "error.title": "This did not work",
  "error.back":
    "Go back to the application and try again. If the error persists, send the details below to the application’s support.",
  "error.unavailable": "The service is not available right now. Please try again in a moment.",
  "error.server": "Something went wrong on our side. Please try again.",
  "error.expired": "This page has expired or was already used. Go back to the application and start again.",
  "error.code": "Error",
  "error.reference": "Reference",
  "link.account": "Your account",
  support: "Help",
} as const;

export type LayoutMessageKey = keyof typeof en;

const de: Readonly<Record<LayoutMessageKey, string>> = {
  "home.link": "Zur Startseite",
  "notFound.title": "Seite nicht gefunden",
  "notFound.text": "Unter dieser Adresse gibt es keine Seite. Prüfen Sie die Adresse oder gehen Sie zurück.",
  "error.title": "Das hat nicht geklappt",
  "error.back":
    "Gehen Sie zur Anwendung zurück und versuchen Sie es erneut. Tritt der Fehler wieder auf, senden Sie die folgenden Angaben an den Support der Anwendung.",
  "error.unavailable": "Der Dienst ist gerade nicht erreichbar. Bitte versuchen Sie es gleich noch einmal.",
  "error.server": "Bei uns ist etwas schiefgegangen. Bitte versuchen Sie es erneut.",
  "error.expired":
    "Diese Seite ist abgelaufen oder wurde schon benutzt. Gehen Sie zur Anwendung zurück und beginnen Sie neu.",
  "error.code": "Fehler",
  "error.reference": "Vorgang",
  "link.account": "Ihr Konto",
  support: "Hilfe",
};

export const layoutMessages: Catalog<LayoutMessageKey> = { en, de };
