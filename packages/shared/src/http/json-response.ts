export const noStore = { "Cache-Control": "no-store" } as const;

/**
 * **The status, headers and body of an API response**, before it is a `Response`: the last step sets all headers at once, with
 * `no-store` unless `headers` override it. Setting headers one by one on an existing response costs several times as much.
 */
export class JsonResponse {
  readonly body: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    body: unknown,
    { status = 200, headers = {} }: { status?: number; headers?: Readonly<Record<string, string>> | undefined } = {},
  ) {
    this.body = body;
    this.status = status;
    this.headers = headers;
  }
}

/** The result of an endpoint. */
export type EndpointResponse = Response | JsonResponse;
