import * as z from "zod";
import { unreachable } from "../connection/authorize.ts";
import { Failure } from "../console/failure.ts";
import { requireForm } from "../console/read-document.ts";
import { type ApiResponse, readResponse } from "../provider-api.ts";

/** Time for one document. */
const documentMs = 15_000;

export interface ProviderDocument extends ApiResponse {
  /** The provider's clock. */
  readonly now: Date;
}

/** **A public document of a provider**, and the time at which it was sent. */
export async function fetchProvider(url: string): Promise<ProviderDocument> {
  try {
    const init = { redirect: "manual", signal: AbortSignal.timeout(documentMs) } as const;
    const response = await readResponse(await fetch(url, init));
    const date = response.headers.get("date");
    if (response.status >= 500) throw new Failure("unavailable", `${url} responded with ${response.status}.`);
    return { ...response, now: date === null ? new Date() : new Date(date) };
  } catch (error) {
    throw unreachable(error) ?? error;
  }
}

const metadataSchema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  end_session_endpoint: z.url().optional(),
  jwks_uri: z.url(),
  id_token_signing_alg_values_supported: z.array(z.string()).optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});

const keySetSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string().exactOptional() })) });

/** The members of provider metadata that are examined. */
export type Metadata = z.output<typeof metadataSchema>;

/** @see https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata */
export function readMetadata(url: string, { body }: ProviderDocument): Metadata {
  return requireForm(`The metadata at ${url}`, metadataSchema, body);
}

/** **The keys of a provider.** @see https://www.rfc-editor.org/rfc/rfc7517#section-5 */
export async function fetchKeys(url: string): Promise<z.output<typeof keySetSchema>> {
  return requireForm(`The key set at ${url}`, keySetSchema, (await fetchProvider(url)).body);
}
