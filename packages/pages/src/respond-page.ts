/** The result of hono/jsx: text, or a promise of text if a component is asynchronous. */
type Rendered = { toString(): string | Promise<string> };

export interface PageOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: readonly (string | undefined)[];
  /** Whether a form of the page may lead to another site, at once or by a redirect. */
  readonly formLeaves?: boolean;
  /** URLs of other origins that the page loads in frames. */
  readonly frames?: readonly string[];
  /** Whether the page may show images of other origins (client logos). */
  readonly foreignImages?: boolean;
  /** The page shows itself and does nothing: no script, no form, no navigation of what frames it. Pages of this origin may frame it. */
  readonly isPreview?: boolean;
}

/**
 * **A page with its security headers**: no foreign script runs, no site can frame it, no cache stores it, and its URL is not sent as a
 * referrer.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.16
 */
export async function respondPage(page: Rendered | Promise<Rendered>, options: PageOptions = {}): Promise<Response> {
  const response = new Response(String(await (await page).toString()), {
    status: options.status ?? 200,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": contentSecurityPolicy(options),
      "Cache-Control": "no-store",
      Pragma: "no-cache",
      "Referrer-Policy": "no-referrer",
      "X-Frame-Options": options.isPreview === true ? "SAMEORIGIN" : "DENY",
      "Permissions-Policy": "publickey-credentials-get=(self), publickey-credentials-create=(self)",
      ...options.headers,
    },
  });
  return withCookies(response, options.cookies ?? []);
}

/**
 * Chromium applies `form-action` to every redirect after a form. Where the redirects end is known only to the site that a form leads to (from a
 * client's callback to the scheme or the loopback port of its application, for example), so a page with such a form has no `form-action`. It would
 * have to allow every https origin anyway, and then protects nothing: injected markup could send a form to any of them.
 *
 * @see https://www.w3.org/TR/CSP3/#directive-form-action
 */
function contentSecurityPolicy({ formLeaves = false, foreignImages, frames = [], isPreview }: PageOptions): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    `img-src 'self' data: ${foreignImages === false ? "" : "https:"}`.trim(),
    ...(formLeaves ? [] : ["form-action 'self'"]),
    ...(frames.length === 0 ? [] : [`frame-src ${[...new Set(frames.map((url) => new URL(url).origin))].join(" ")}`]),
    "base-uri 'none'",
    ...(isPreview === true ? ["frame-ancestors 'self'", "sandbox allow-same-origin"] : ["frame-ancestors 'none'"]),
  ].join("; ");
}

export function withCookies(response: Response, cookies: readonly (string | undefined)[]): Response {
  for (const cookie of cookies) if (cookie !== undefined) response.headers.append("Set-Cookie", cookie);
  return response;
}

/** 303, so that a browser that posted a form does not post it again to the target (RFC 9700 §4.12). */
export function redirect(location: string, cookies: readonly (string | undefined)[] = []): Response {
  const headers = {
    Location: location,
    "Cache-Control": "no-store",
    Pragma: "no-cache",
    "Referrer-Policy": "no-referrer",
  };
  return withCookies(new Response(null, { status: 303, headers }), cookies);
}
