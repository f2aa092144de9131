/**
 * **What an API endpoint answers, before it is a response**: the last step gives it all of its headers at once. Setting them
 * one by one on a response that is there costs several times as much, and again at every hop that hands it on.
 */
export class JsonAnswer {
  readonly body: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    body: unknown,
    { status = 200, headers = {} }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
  ) {
    this.body = body;
    this.status = status;
    this.headers = headers;
  }
}

/** What an endpoint may answer with. */
export type Answer = Response | JsonAnswer;
