import { isText, listOf, objectOf, type Stored } from "@edge-op/protocol/encoding/stored-json";
import type * as z from "zod";
import type { resourceMetadataSchema } from "./resource-schema.ts";

export type ResourceMetadata = Stored<z.output<typeof resourceMetadataSchema>>;

const isClientList = listOf<string>(isText);

export const isResourceMetadata = objectOf<ResourceMetadata>({
  name: isText,
  scopes: listOf(objectOf<ResourceMetadata["scopes"][number]>({ value: isText, description: isText })),
  clients: (value): value is ResourceMetadata["clients"] => isText(value) || isClientList(value),
});

/** **A resource**, as every Worker reads it. The identifier is a value of `aud`, with its path. */
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
