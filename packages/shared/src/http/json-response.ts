export const noStore = { "Cache-Control": "no-store" } as const;

const noHeaders: Readonly<Record<string, string>> = {};

interface JsonResponseOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly text?: string;
}

/**
 * **The status, headers and body of an API response**, before it is a `Response`: the last step sets all headers at once, with
 * `no-store` unless `headers` override it. Setting headers one by one on an existing response costs several times as much.
 */
export class JsonResponse {
  readonly body: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON of the body, if it was created earlier. */
  readonly text: string | undefined;

  constructor(body: unknown, { status = 200, headers = noHeaders, text }: JsonResponseOptions = {}) {
    this.body = body;
    this.status = status;
    this.headers = headers;
    this.text = text;
  }
}

/** The result of an endpoint. */
export type EndpointResponse = Response | JsonResponse;
