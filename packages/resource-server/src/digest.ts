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

const encoder = new TextEncoder();

export async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
}

export function encodeBase64Url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
