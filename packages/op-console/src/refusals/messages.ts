import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "refusals.title": "Why was this refused?",
  "refusals.text":
    "The newest refused requests, kept for a day. A response names its request in the header Request-Id; an error page shows it as the reference.",
  "refusals.byRequest": "Request id",
  "refusals.byClient": "Client id",
  "refusal.rule": "The rule",
  "refusal.mend": "How to fix it",
  "refusal.docs": "Documentation",
  "refusal.detail": "In this request",
  "refusal.request": "Request",
  "refusal.client": "Client",
  "refusal.named": "named by the request, not authenticated",
  "refusal.sent": "Sent: {name}",
  "refusal.registered": "Registered: {name}",
  "refusal.omitted": "{count, plural, one {# refusal} other {# refusals}} before this one were not recorded.",
  "refusal.openClient": "Open the client",
} as const;

export type RefusalKey = keyof typeof en;

const de: Readonly<Record<RefusalKey, string>> = {
  "refusals.title": "Warum wurde das abgelehnt?",
  "refusals.text":
    "Die neuesten abgelehnten Anfragen, einen Tag lang. Eine Antwort nennt ihre Anfrage im Header Request-Id; eine Fehlerseite zeigt sie als Vorgang.",
  "refusals.byRequest": "Vorgang (Request-Id)",
  "refusals.byClient": "Client-ID",
  "refusal.rule": "Die Regel",
  "refusal.mend": "Was es behebt",
  "refusal.docs": "Dokumentation",
  "refusal.detail": "In dieser Anfrage",
  "refusal.request": "Anfrage",
  "refusal.client": "Client",
  "refusal.named": "von der Anfrage genannt, nicht authentifiziert",
  "refusal.sent": "Gesendet: {name}",
  "refusal.registered": "Registriert: {name}",
  "refusal.omitted":
    "Vor dieser {count, plural, one {wurde # Ablehnung} other {wurden # Ablehnungen}} nicht aufgezeichnet.",
  "refusal.openClient": "Client öffnen",
};

export const refusalMessages: Catalog<RefusalKey> = { en, de };
