export const noStore = { "Cache-Control": "no-store" } as const;

/**
 * **What an API endpoint answers, before it is a response**: the last step gives it all of its headers at once, `no-store` unless
 * `headers` say otherwise. Setting them one by one on a response that is there costs several times as much.
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

/** What an endpoint may answer with. */
export type EndpointResponse = Response | JsonResponse;
