import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "resources.title": "Resources",
  "resource.kind": "Resource",
  "resource.name": "Name, as people read it at consent",
  "resource.identifier": "Identifier: the URI of the API or MCP server",
  "resource.identifierHelp": "It cannot be changed.",
  "resource.scopes": "Scope values, each with its description at consent",
  "resource.scopesHelp": "One on each line: value: description.",
  "resource.clients": "Clients that may request its tokens",
  "resource.clientsHelp": "Client ids, one on each line; or one line: registered, or any.",
  "resource.editEnds":
    "New tokens follow it at once. Tokens that exist stay valid until they expire. People are asked again only for what they have not allowed.",
  "resource.create": "Create a resource",
  "resource.createEnds": "Nothing ends. Clients may request tokens for it at once.",
  "resource.deleteEnds": "No new token is issued for it. Tokens that exist stay valid until they expire.",
  "resource.lifetime": "Lifetime of access tokens, in seconds",
} as const;

export type ResourceKey = keyof typeof en;

const de: Readonly<Record<ResourceKey, string>> = {
  "resources.title": "Ressourcen",
  "resource.kind": "Ressource",
  "resource.name": "Name, wie Personen ihn bei der Zustimmung lesen",
  "resource.identifier": "Kennung: die URI der API oder des MCP-Servers",
  "resource.identifierHelp": "Sie kann nicht geändert werden.",
  "resource.scopes": "Scope-Werte mit ihrer Beschreibung bei der Zustimmung",
  "resource.scopesHelp": "Einer je Zeile: Wert: Beschreibung.",
  "resource.clients": "Clients, die Tokens dafür anfordern dürfen",
  "resource.clientsHelp": "Client-IDs, eine je Zeile; oder eine Zeile: registered oder any.",
  "resource.editEnds":
    "Neue Tokens folgen dem sofort. Vorhandene Tokens gelten, bis sie ablaufen. Personen werden nur nach dem gefragt, was sie noch nicht erlaubt haben.",
  "resource.create": "Ressource anlegen",
  "resource.createEnds": "Es endet nichts. Clients dürfen sofort Tokens dafür anfordern.",
  "resource.deleteEnds": "Es werden keine neuen Tokens dafür ausgestellt. Vorhandene gelten, bis sie ablaufen.",
  "resource.lifetime": "Gültigkeit von Access-Tokens in Sekunden",
};

export const resourceMessages: Catalog<ResourceKey> = { en, de };
