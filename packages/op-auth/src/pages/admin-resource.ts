import type { Language, TextLanguage } from "@edge-op/pages/languages";
import { adminAudience } from "@edge-op/protocol/oauth/admin-scope";
import type { Resource } from "@edge-op/shared/resources/resource";

/** What each scope of the admin API allows, in the words of the person who decides. */
const scopes: Readonly<Record<string, Readonly<Record<TextLanguage, string>>>> = {
  "admin:clients": { en: "Administer clients and resources", de: "Clients und Ressourcen verwalten" },
  "admin:issuers": {
    en: "Administer trusted issuers and upstream providers",
    de: "Vertraute Aussteller und vorgelagerte Anbieter verwalten",
  },
  "admin:users": { en: "Administer users, roles and groups", de: "Personen, Rollen und Gruppen verwalten" },
  "admin:export": {
    en: "Export all users with their password hashes",
    de: "Alle Personen mit ihren Passwort-Hashes ausgeben",
  },
  "admin:keys": { en: "Administer the signing keys", de: "Die Signaturschlüssel verwalten" },
  "admin:tokens": { en: "Revoke tokens of everybody", de: "Tokens aller Personen widerrufen" },
  "admin:revoke-all": { en: "End everything that was ever issued", de: "Alles beenden, was je ausgestellt wurde" },
  "admin:shards": { en: "See and change the deployment", de: "Den Betrieb sehen und ändern" },
  "admin:audit": { en: "Read the audit log", de: "Das Audit-Log lesen" },
};

/** **The admin API as a resource on pages**: nobody registers it, and its scope values are the same at every deployment. */
export function adminResource(issuer: string): Resource {
  return {
    identifier: adminAudience(issuer),
    metadata: {
      name: "the administration of this provider",
      translations: { de: "Verwaltung dieses Anbieters" },
      clients: "any",
      scopes: Object.entries(scopes).map(([value, { en, de }]) => ({
        value,
        description: en,
        translations: { de },
      })),
    },
  };
}

/** Without a resource, these scope values have the same meaning. */
export function describeAdminScope(value: string, language: Language): string | undefined {
  if (!Object.hasOwn(scopes, value)) return undefined;
  const { en, de } = scopes[value]!;
  return language === "de" ? de : en;
}
