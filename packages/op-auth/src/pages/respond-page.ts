import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { readDeployment } from "../deployment.ts";
import type { PageFrame } from "./layout.tsx";
import { translatorFor } from "./messages.ts";

/** What hono/jsx renders to: text, or a promise of it where a component is asynchronous. */
type Rendered = { toString(): string | Promise<string> };

export interface PageOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: readonly (string | undefined)[];
  /** Where a form of the page may lead besides here: browsers hold redirects after a form to `form-action` as well. */
  readonly formTarget?: string | undefined;
  /** Whether the page shows images of others: client logos. */
  readonly foreignImages?: boolean;
}

/**
 * **The headers that a page of ours always has**: nothing from elsewhere runs, nobody frames it, no cache keeps it, and no URL of
 * it leaks to the next site.
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

/** Any https site may follow a form: the client's own redirect URI may well redirect on. */
function contentSecurityPolicy({ formTarget, foreignImages }: PageOptions): string {
  const formAction = formTarget === undefined ? "'self'" : `'self' https: ${formActionSource(formTarget)}`;
  return [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    `img-src 'self' data: ${foreignImages === false ? "" : "https:"}`.trim(),
    `form-action ${formAction}`.trim(),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Origin of an http URL, scheme of any other; a policy cannot name an IPv6 address. */
function formActionSource(uri: string): string {
  const { protocol, origin, hostname } = new URL(uri);
  if (protocol === "https:") return "";
  return protocol === "http:" && !hostname.startsWith("[") ? origin : protocol;
}

export function withCookies(response: Response, cookies: readonly (string | undefined)[]): Response {
  for (const cookie of cookies) if (cookie !== undefined) response.headers.append("Set-Cookie", cookie);
  return response;
}

/** 303, so that a browser that posted a form does not post it again (RFC 9700 §4.12). */
export function redirect(location: string, cookies: readonly (string | undefined)[] = []): Response {
  const headers = {
    Location: location,
    "Cache-Control": "no-store",
    Pragma: "no-cache",
    "Referrer-Policy": "no-referrer",
  };
  return withCookies(new Response(null, { status: 303, headers }), cookies);
}

export function frameOf(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  uiLocales: readonly string[] = [],
): PageFrame {
  return {
    t: translatorFor(uiLocales, request.headers.get("accept-language")),
    deployment: readDeployment(context.env),
  };
}
