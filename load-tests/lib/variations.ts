const services = [
  "gateway",
  "users",
  "payments",
  "orders",
  "catalog",
  "inventory",
  "shipping",
  "billing",
  "notifications",
  "search",
  "reports",
  "analytics",
  "messages",
  "files",
  "media",
  "support",
  "accounts",
  "ledger",
  "pricing",
  "audit",
] as const;

export const audiences: readonly string[] = services.map((service) => `https://api.example.com/${service}`);

export const scopePatterns = [
  "openid",
  "openid profile",
  "openid profile email",
  "openid profile email address phone",
] as const;

export const resources: readonly string[] = [
  "https://resource.example.com/api/v1",
  "https://resource.example.com/api/v2",
  "https://data.example.com/graphql",
  "https://data.example.com/export",
  "https://files.example.com/v1",
  "https://events.example.com/stream",
  "https://search.example.com/index",
  "https://mail.example.com/outbox",
  "https://maps.example.com/tiles",
  "https://models.example.com/score",
];

/** **The parameters of an exchange**, selected by the iteration's number: every combination of the published runs occurs. */
export function variationAt(iteration: number) {
  return {
    audience: audiences[iteration % audiences.length]!,
    scope: scopePatterns[Math.floor(iteration / audiences.length) % scopePatterns.length]!,
    resource: resources[Math.floor(iteration / 7) % resources.length]!,
  };
}
