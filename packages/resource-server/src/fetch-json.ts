export interface FetchJsonOptions extends Pick<RequestInit, "method" | "headers"> {
  readonly body?: string;
  readonly timeoutMs: number;
  readonly fetch?: typeof fetch | undefined;
}

/** **Reads a JSON object from the provider.** Redirects are not followed. Throws unless the response is 200 and an object, and after the timeout. */
export async function fetchJson(
  url: string,
  { timeoutMs, fetch: fetchFrom = fetch, ...init }: FetchJsonOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetchFrom(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url}: status ${response.status}`);
  }
  const body: unknown = await response.json();
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw new Error(`${url}: not a JSON object`);
  return body as Readonly<Record<string, unknown>>;
}
