/** **One call of the API**, and its handler. */

import type { LocalCloudflare } from "./local-cloudflare.ts";

export interface ApiRequest {
  readonly method: string;
  /** Below `/client/v4`. */
  readonly path: string;
  readonly search: URLSearchParams;
  /** Of buckets; without the header those outside of all jurisdictions. */
  readonly jurisdiction: string;
  /** Parsed: JSON, a form, or text. */
  readonly body: unknown;
}

export interface ApiRoute {
  readonly method: string;
  readonly pattern: RegExp;
  /** Returns the result, or a response without the envelope of the API. */
  handle(local: LocalCloudflare, request: ApiRequest, parts: Readonly<Record<string, string>>): unknown;
}

export class ApiFault extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** `/accounts/{account}/queues`: each name in braces is a part; `{name}` at the end has the rest of the path. */
export function route(method: string, path: string, handle: ApiRoute["handle"]): ApiRoute {
  const expression = path.replace(/\{name\}$/, "(?<name>.+)").replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)");
  return { method, pattern: new RegExp(`^${expression}$`), handle };
}
