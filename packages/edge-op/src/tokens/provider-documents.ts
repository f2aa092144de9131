import { unreachable } from "../connection/authorize.ts";
import { Failure } from "../console/failure.ts";
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
