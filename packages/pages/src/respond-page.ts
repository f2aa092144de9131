/** The result of hono/jsx: text, or a promise of text if a component is asynchronous. */
type Rendered = { toString(): string | Promise<string> };

export interface PageOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: readonly (string | undefined)[];
  /** The foreign targets of the page's forms, if it has some: browsers apply `form-action` to redirects after a form too. */
  readonly formTarget?: string | readonly string[] | undefined;
  /** URLs of other origins that the page loads in frames. */
  readonly frames?: readonly string[];
  /** Whether the page may show images of other origins (client logos). */
  readonly foreignImages?: boolean;
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
      "X-Frame-Options": "DENY",
      "Permissions-Policy": "publickey-credentials-get=(self), publickey-credentials-create=(self)",
      ...options.headers,
    },
  });
  return withCookies(response, options.cookies ?? []);
}

/** With a foreign target, every https origin is allowed, because a redirect URI, or a sign-in elsewhere, may redirect to another one. */
function contentSecurityPolicy({ formTarget, foreignImages, frames = [] }: PageOptions): string {
  const targets = [formTarget ?? []].flat();
  const sources = new Set(targets.map(formActionSource));
  const formAction = targets.length === 0 ? "'self'" : `'self' https: ${[...sources].join(" ")}`;
  return [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    `img-src 'self' data: ${foreignImages === false ? "" : "https:"}`.trim(),
    `form-action ${formAction}`.trim(),
    ...(frames.length === 0 ? [] : [`frame-src ${[...new Set(frames.map((url) => new URL(url).origin))].join(" ")}`]),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** The origin of an http URL, the scheme of any other; a policy cannot contain an IPv6 address. */
function formActionSource(uri: string): string {
  const { protocol, origin, hostname } = new URL(uri);
  if (protocol === "https:") return "";
  return protocol === "http:" && !hostname.startsWith("[") ? origin : protocol;
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
