import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "held.title": "Held records",
  "held.text":
    "The database was restored to before the newest changes of these records. Each is refused until somebody decides.",
  "held.lost": "lost: {action}, held since {time}",
  "held.decide": "Decide",
  "held.decideAll": "Decide about all",
  "held.decision": "Decision",
  "held.refuse": "Refuse: it stays suspended, disabled, denied or empty until somebody changes it",
  "held.restore": "Restore: it may do again what the restored database says",
  "held.ends":
    "Nothing ends. A record that is restored may be used at once, also by a secret or with a permission that was taken away in the lost change. Look into the audit log first.",
  "held.endsAll":
    "Nothing ends. It is about 200 records at a time. Those that are restored may be used at once, also by a secret or with a permission that was taken away in a lost change.",
} as const;

export type HeldKey = keyof typeof en;

const de: Readonly<Record<HeldKey, string>> = {
  "held.title": "Zurückgehaltene Einträge",
  "held.text":
    "Die Datenbank wurde auf einen Stand vor den letzten Änderungen dieser Einträge zurückgesetzt. Jeder ist gesperrt, bis jemand entscheidet.",
  "held.lost": "verloren: {action}, zurückgehalten seit {time}",
  "held.decide": "Entscheiden",
  "held.decideAll": "Über alle entscheiden",
  "held.decision": "Entscheidung",
  "held.refuse": "Sperren: Er bleibt gesperrt, verboten oder leer, bis jemand ihn ändert",
  "held.restore": "Wiederherstellen: Er darf wieder, was die zurückgesetzte Datenbank sagt",
  "held.ends":
    "Es endet nichts. Ein wiederhergestellter Eintrag kann sofort benutzt werden, auch mit einem Secret oder einer Berechtigung, die in der verlorenen Änderung entzogen wurde. Sehen Sie zuerst im Audit-Protokoll nach.",
  "held.endsAll":
    "Es endet nichts. Es geht um je 200 Einträge. Wiederhergestellte können sofort benutzt werden, auch mit einem Secret oder einer Berechtigung, die in einer verlorenen Änderung entzogen wurde.",
};

export const heldMessages: Catalog<HeldKey> = { en, de };
