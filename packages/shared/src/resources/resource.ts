import type { SigningAlgorithm } from "@edge-op/protocol/jwt/signing-algorithms";

/** A scope value of a resource, as shown to people at consent. */
export interface ResourceScope {
  readonly value: string;
  readonly description: string;
  /** Part of a request that names the resource without a scope. */
  readonly default?: boolean;
}

/** The clients that may request tokens for a resource: every registered client, every client (metadata documents included), or the named ones. */
export type ResourceClients = "registered" | "any" | readonly string[];

/**
 * **The metadata of a resource**: an API or MCP server that tokens are issued for, as stored in D1 and shown by the admin API.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 * @see https://www.rfc-editor.org/rfc/rfc9728#section-2
 */
export interface ResourceMetadata {
  readonly name: string;
  readonly scopes: readonly ResourceScope[];
  readonly clients: ResourceClients;
  /** Seconds; the client's or the deployment's lifetime if absent. */
  readonly access_token_lifetime?: number;
  /** The signature that the resource verifies; the client's or the deployment's algorithm if absent. */
  readonly access_token_signed_response_alg?: SigningAlgorithm;
  /** Tokens are issued only to a key that the request proves. */
  readonly bound_tokens_required?: boolean;
}

/** **A resource**, as every Worker reads it. The identifier, including its path, is a value of `aud`. */
export interface Resource {
  readonly identifier: string;
  readonly metadata: ResourceMetadata;
}

/** The party that requests a token. `registered` is false for a client that is known only by its metadata document. */
export interface ResourceCaller {
  readonly clientId: string;
  readonly registered: boolean;
}

/** Whether a resource's rule admits a client. A client whose own registration names the resource may request it regardless of the rule. */
export function admitsClient({ metadata: { clients } }: Resource, { clientId, registered }: ResourceCaller): boolean {
  if (clients === "any") return true;
  return clients === "registered" ? registered : clients.includes(clientId);
}

/** Whether a resource names a client. The scopes of such a client need no consent. */
export function namesClient({ metadata: { clients } }: Resource, { clientId }: ResourceCaller): boolean {
  return Array.isArray(clients) && clients.includes(clientId);
}

/** The scope values of several resources, distinct. */
export function scopesOf(resources: readonly Resource[]): string[] {
  return [...new Set(resources.flatMap(({ metadata }) => metadata.scopes.map(({ value }) => value)))];
}

/** The scope values of a request that names the resources without a scope. */
export function defaultScopesOf(resources: readonly Resource[]): string[] {
  const values = resources.flatMap(({ metadata }) => metadata.scopes.filter((scope) => scope.default === true));
  return [...new Set(values.map(({ value }) => value))];
}
