import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "shards.title": "Shards",
  "shards.text": "The objects that hold state, how large they are, and what waits for leases.",
  "shards.generations": "Generations",
  "shards.newest": "newest",
  "shards.retired": "retired",
  "shards.from": "new ids from {time}",
  "shards.objects": "Objects",
  "shards.full": "{size} kB, {share} of its 10 GB",
  "shards.version": "version {version}",
  "shards.leases": "Leases on revocations",
  "shards.holders": "{count, plural, one {# holder} other {# holders}}, {waiting} waiting",
  "shards.waits": "{count, plural, one {# wait} other {# waits}} since {time}, the longest {ms} ms",
  "shards.unreachable": "Objects that do not respond",
  "shards.more":
    "Further objects are not shown: {count, plural, one {# object} other {# objects}}. The command line lists all.",
  "shards.held": "Held records",
  "generation.open": "Open a generation",
  "generation.openEnds":
    "Nothing ends or moves: new ids use it at once, and it stays. Without regions, relays are closed. More shards cost more calls for each change.",
  "generation.store": "Store",
  "generation.regions": "Regions, each with its number of shards",
  "generation.regionsHelp": "One on each line, by location hint: weur: 16. For relays, none closes them.",
} as const;

export type ShardKey = keyof typeof en;

const de: Readonly<Record<ShardKey, string>> = {
  "shards.title": "Shards",
  "shards.text": "Die Objekte mit dem Zustand, wie groß sie sind und was auf Leases wartet.",
  "shards.generations": "Generationen",
  "shards.newest": "neueste",
  "shards.retired": "abgelöst",
  "shards.from": "neue IDs ab {time}",
  "shards.objects": "Objekte",
  "shards.full": "{size} kB, {share} seiner 10 GB",
  "shards.version": "Version {version}",
  "shards.leases": "Leases auf Widerrufe",
  "shards.holders": "{count, plural, one {# Inhaber} other {# Inhaber}}, {waiting} warten",
  "shards.waits": "{count, plural, one {# Wartezeit} other {# Wartezeiten}} seit {time}, die längste {ms} ms",
  "shards.unreachable": "Objekte, die nicht antworten",
  "shards.more":
    "Weitere Objekte sind nicht gezeigt: {count, plural, one {# Objekt} other {# Objekte}}. Die Kommandozeile listet alle.",
  "shards.held": "Zurückgehaltene Einträge",
  "generation.open": "Generation öffnen",
  "generation.openEnds":
    "Es endet und bewegt sich nichts: Neue IDs nutzen sie sofort, und sie bleibt. Ohne Regionen werden die Relays geschlossen. Mehr Shards kosten mehr Aufrufe je Änderung.",
  "generation.store": "Speicher",
  "generation.regions": "Regionen, jede mit der Zahl ihrer Shards",
  "generation.regionsHelp": "Eine je Zeile, nach Ort: weur: 16. Bei Relays schließt keine Angabe sie.",
};

export const shardMessages: Catalog<ShardKey> = { en, de };
