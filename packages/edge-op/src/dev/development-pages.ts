import { createHash } from "node:crypto";
import { type Request, Response } from "miniflare";
import type { SentMail } from "../mailbox.ts";
import type { Activity, SeenRefusal, SeenRequest } from "./activity.ts";
import { html, lookForm, lookStyle, Markup, rememberedLook } from "./look.ts";

/** The content of the panel, known once the demo or the seed is registered. */
export interface PanelContent {
  readonly issuer: string;
  readonly demo: string | undefined;
  /** Without a password: it came from a seed file. */
  readonly users: readonly { readonly username: string; readonly password: string | undefined }[];
  readonly clients: readonly {
    readonly id: string;
    readonly isPublic: boolean;
    readonly redirectUris: readonly string[];
  }[];
  /** Where the secrets of the clients are. */
  readonly secrets: string;
}

/** Names by which only this machine reaches this machine: under any other, a foreign site has rebound its DNS name (or a tunnel is open). */
const ownNames = ["localhost", "127.0.0.1", "[::1]"];

/**
 * **The pages of a development run**: the panel at `/`, `/dev/refusals`, the sent mails at `/dev/mailbox`, colours to try at `/dev/look`, and the
 * explanation that the pages of refused requests contain. They exist in this package alone, on loopback; they check `Host`, allow no other origin to
 * read or frame them, and change nothing.
 */
export async function serveDevelopmentPage(
  request: Request,
  activity: Activity,
  content: PanelContent,
  mails: readonly SentMail[],
): Promise<Response> {
  const { hostname, pathname, searchParams } = new URL(request.url);
  if (!ownNames.includes(hostname)) return respond("This page is for this machine alone.\n", 421, "text/plain");
  if (request.method !== "GET" && request.method !== "HEAD")
    return respond("Only GET is allowed.\n", 405, "text/plain", { Allow: "GET, HEAD" });
  switch (pathname) {
    case "/":
      return respond(page("Development", panel(activity, content)));
    case "/dev/refusals":
      return respond(page("Refusals", refusals(activity)));
    case "/dev/mailbox":
      return respond(page("Mailbox", mailbox(mails, searchParams.get("to"))));
    case "/dev/mail":
      return respondMail(mails.find(({ id }) => id === searchParams.get("id")));
    case "/dev/look": {
      const policy = contentSecurityPolicy.replace("form-action 'none'", "form-action 'self'");
      const headers = { "Content-Security-Policy": policy, "Set-Cookie": rememberedLook(searchParams) };
      return respond(page("Look", lookForm(searchParams)), 200, "text/html", headers);
    }
    case "/dev/style.css": {
      const { css, problem } = lookStyle(searchParams);
      return css === undefined ? respond(`${problem}\n`, 400, "text/plain") : respond(css, 200, "text/css");
    }
    case "/dev/explanation": {
      const found = await activity.find(searchParams.get("request") ?? "");
      return found === undefined ? respond("", 404) : respond(explanation(found).text);
    }
    default:
      return respond("There is no such page.\n", 404, "text/plain");
  }
}

const style = `
:root { color-scheme: light dark; --line: light-dark(#dfe3ea, #2b313d); --muted: light-dark(#586174, #a3adbf); --link: light-dark(#1f5fd6, #8ab4ff); font: 16px/1.5 system-ui, sans-serif; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 2rem 1rem; background: light-dark(#f3f5f9, #0f1218); color: light-dark(#171b22, #eceff5); }
main { padding: 2rem; border: 1px solid var(--line); border-radius: 18px; background: light-dark(#fff, #181c24); overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.5rem; } h2 { margin: 2rem 0 .5rem; font-size: 1.0625rem; } article h2 { margin: 0 0 .5rem; font-size: 1rem; }
p { margin: .375rem 0 0; } a { color: var(--link); } a:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: .75rem; } .muted, dt, th { color: var(--muted); }
table { width: 100%; border-collapse: collapse; font-size: .875rem; } th { font-weight: 500; text-align: start; } th, td { padding: .375rem .75rem .375rem 0; border-top: 1px solid var(--line); vertical-align: top; }
pre { margin: .75rem 0 0; white-space: pre-wrap; font: .875rem/1.5 ui-monospace, monospace; }
code, .id { font: .8125rem/1.6 ui-monospace, monospace; overflow-wrap: anywhere; }
article { margin-top: 1.25rem; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: 12px; } article:target { border-color: var(--link); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0; font-size: .9375rem; } dd { margin: 0; min-width: 0; }
@media (max-width: 40rem) { main { padding: 1.25rem; } dl { grid-template-columns: 1fr; } table, tbody, tr, td { display: block; } thead { display: none; } tr { padding: .5rem 0; border-top: 1px solid var(--line); } td { padding: 0; border: 0; } }`;

const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function respond(body: string, status = 200, type = "text/html", more: Readonly<Record<string, string>> = {}) {
  const headers = {
    "Content-Type": `${type}; charset=utf-8`,
    "Content-Security-Policy": contentSecurityPolicy,
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    ...more,
  };
  return new Response(body, { status, headers });
}

/** The HTML of a mail, as a program for mail shows it: no script, no form. */
function respondMail(mail: SentMail | undefined) {
  if (mail === undefined) return respond("There is no such mail.\n", 404, "text/plain");
  const policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; frame-ancestors 'none'";
  return respond(mail.html, 200, "text/html", { "Content-Security-Policy": policy });
}

/** Markdown of the tables of reasons: only code. */
function prose(text: string): Markup {
  return html`${text.split("`").map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}

function page(title: string, content: Markup): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title} · Edge OP</title><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><style>${new Markup(style)}</style></head>
<body><main>${content}</main></body></html>
`.text;
}

function panel(activity: Activity, { issuer, demo, users, clients, secrets }: PanelContent): Markup {
  const links = [
    ...(demo === undefined ? [] : [html`<a href="${demo}">Demo application</a>`]),
    html`<a href="/account">Sign in</a>`,
    html`<a href="/dev/refusals">Refusals</a>`,
    html`<a href="/dev/mailbox">Mailbox</a>`,
    html`<a href="/dev/look">Look</a>`,
    html`<a href="/.well-known/openid-configuration">Discovery</a>`,
  ];
  return html`<h1>Edge OP, in development</h1>
<p class="muted">Issuer <code>${issuer}</code>. This page is for this machine alone; a deployment shows its users a start page here.</p>
<nav aria-label="Pages">${links}</nav>
<h2>Users</h2>
${table(["User name", "Password"], users, ({ username, password }) => [
  html`${username}`,
  password === undefined ? html`<span class="muted">in the seed file</span>` : html`<code>${password}</code>`,
])}
<h2>Clients</h2>
${table(["Client", "Redirect URIs"], clients, ({ id, isPublic, redirectUris }) => [
  html`<code>${id}</code>${isPublic ? " (public)" : ""}`,
  html`${redirectUris.map((uri) => html`<code>${uri}</code> `)}`,
])}
<p class="muted">${secrets}</p>
<h2>Last refusals</h2>
${activity.refusals.length === 0 ? html`<p>None.</p>` : table(["Time", "Request", "Client", "Reason"], activity.refusals.slice(0, 5), refusalRow)}
<h2>Last requests</h2>
${table(["Time", "Request", "Status", "Client"], activity.requests.filter(({ endpoint }) => !endpoint.startsWith("/assets/")).slice(0, 15), requestRow)}`;
}

function table<Row>(titles: readonly string[], rows: readonly Row[], cells: (row: Row) => readonly Markup[]): Markup {
  const body = rows.map((row) => html`<tr>${cells(row).map((cell) => html`<td>${cell}</td>`)}</tr>`);
  return html`<table><thead><tr>${titles.map((title) => html`<th scope="col">${title}</th>`)}</tr></thead><tbody>${body}</tbody></table>`;
}

function clock(at: Date): string {
  return at.toTimeString().slice(0, 8);
}

function refusalRow({ at, requestId, client, reason }: SeenRefusal): readonly Markup[] {
  const link = html`<a class="id" href="/dev/refusals#${requestId}">${requestId}</a>`;
  return [html`${clock(at)}`, link, html`${client}`, html`<code>${reason}</code>`];
}

function requestRow({ at, method, endpoint, status, code, client }: SeenRequest): readonly Markup[] {
  return [html`${clock(at)}`, html`<code>${method} ${endpoint}</code>`, html`${status} ${code}`, html`${client}`];
}

function refusals({ requests, refusals: all }: Activity): Markup {
  const articles = all.map((refusal) => {
    const request = requests.find(({ requestId }) => requestId === refusal.requestId);
    const title = request === undefined ? "" : `${request.method} ${request.endpoint} · ${request.status}`;
    return html`<article id="${refusal.requestId}"><h2>${title} ${refusal.code}</h2>
<dl><dt>Request</dt><dd class="id">${refusal.requestId}</dd><dt>Time</dt><dd>${clock(refusal.at)}</dd>${members(refusal)}</dl></article>`;
  });
  return html`<h1>Refused requests</h1>
<p class="muted">The newest ${all.length}, of this run. The id of a request is in the header <code>Request-Id</code> of its response, and on its page.</p>
<nav aria-label="Pages"><a href="/">Development</a></nav>
${articles.length === 0 ? html`<p>No request was refused.</p>` : articles}`;
}

function mailbox(mails: readonly SentMail[], address: string | null): Markup {
  const shown = mails.filter((mail) => address === null || mail.to === address);
  const articles = shown.map(({ id, at, to, from, subject, text }) => {
    const link = html`<a href="/dev/mail?id=${encodeURIComponent(id)}">HTML</a>`;
    return html`<article id="${id}"><h2>${subject}</h2>
<dl><dt>To</dt><dd>${to}</dd><dt>From</dt><dd>${from}</dd><dt>Time</dt><dd>${clock(new Date(at))} · ${link}</dd></dl>
<pre>${text}</pre></article>`;
  });
  return html`<h1>Mailbox</h1>
<p class="muted">The mails that this run has sent${address === null ? "" : ` to ${address}`}, the newest first. A deployment sends them by its provider of mail; this run sends none.</p>
<nav aria-label="Pages"><a href="/">Development</a></nav>
${articles.length === 0 ? html`<p>No mail was sent. People receive mails about changes to their accounts if their address is verified.</p>` : articles}`;
}

/** The detail of a URI that is not registered. */
const unregistered = /^(\w+) (.*); registered: (.*)$/s;

function members({ client, reason, cause, detail, mend }: SeenRefusal): Markup {
  const [, parameter = "", sent = "", registered = ""] = unregistered.exec(detail) ?? [];
  const details: readonly (readonly [string, string])[] =
    parameter === ""
      ? [["Detail", detail]]
      : [
          [`Sent as ${parameter}`, sent],
          ["Registered", registered],
        ];
  const shown = [
    ["Client", client || "(none named)"],
    ["Reason", reason],
    ["Cause", cause],
    ...details,
    ["Mend", mend],
  ];
  const rows = shown.filter(([, text]) => text !== "");
  return html`${rows.map(([name = "", text = ""]) => html`<dt>${name}</dt><dd>${prose(text)}</dd>`)}`;
}

/** Part of the page that refuses a request, in the provider's own style. */
function explanation(refusal: SeenRefusal): Markup {
  return html`<h2>In development</h2><dl id="explanation">${members(refusal)}</dl><p class="small"><a href="/dev/refusals#${refusal.requestId}">The last refusals</a></p>`;
}
