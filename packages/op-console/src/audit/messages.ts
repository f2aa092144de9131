import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "audit.title": "Audit log",
  "audit.byType": "Type: a beginning may end with *",
  "audit.byTarget": "Record: a client id, sub, kid, role",
  "audit.bySub": "Person (sub)",
  "audit.byClient": "Client id",
  "audit.byActor": "Who acted (sub)",
  "audit.byRequest": "Request id",
  "audit.more": "More conditions",
  "audit.from": "From (UTC)",
  "audit.to": "Before (UTC)",
  "audit.verify": "Verify the log",
  "audit.verification": "Verification of the audit log",
  "audit.verificationText":
    "Each event contains the hash of the one before it. A page verifies 2,000 events, and the next one continues.",
  "audit.valid": "These events are as they were written.",
  "audit.broken": "The log differs from what was written.",
  "audit.range": "Positions",
  "audit.chain": "Chain value",
  "audit.break": "First difference",
  "audit.gaps": "Recorded losses",
  "audit.continue": "Verify the next events",
  "audit.toLog": "To the log",
} as const;

export type AuditKey = keyof typeof en;

const de: Readonly<Record<AuditKey, string>> = {
  "audit.title": "Audit-Log",
  "audit.byType": "Art: ein Anfang kann mit * enden",
  "audit.byTarget": "Eintrag: Client-ID, sub, kid, Rolle",
  "audit.bySub": "Person (sub)",
  "audit.byClient": "Client-ID",
  "audit.byActor": "Wer gehandelt hat (sub)",
  "audit.byRequest": "Vorgangsnummer",
  "audit.more": "Weitere Bedingungen",
  "audit.from": "Ab (UTC)",
  "audit.to": "Vor (UTC)",
  "audit.verify": "Log prüfen",
  "audit.verification": "Prüfung des Audit-Logs",
  "audit.verificationText":
    "Jedes Ereignis enthält den Hash des vorigen. Eine Seite prüft 2.000 Ereignisse, die nächste macht weiter.",
  "audit.valid": "Diese Ereignisse sind, wie sie geschrieben wurden.",
  "audit.broken": "Das Log weicht von dem ab, was geschrieben wurde.",
  "audit.range": "Positionen",
  "audit.chain": "Kettenwert",
  "audit.break": "Erste Abweichung",
  "audit.gaps": "Erfasste Verluste",
  "audit.continue": "Nächste Ereignisse prüfen",
  "audit.toLog": "Zum Log",
};

export const auditMessages: Catalog<AuditKey> = { en, de };
