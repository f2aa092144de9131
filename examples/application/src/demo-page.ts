import type { IDToken } from "openid-client";

export interface DemoState {
  readonly claims: IDToken | undefined;
  readonly userinfo: Readonly<Record<string, unknown>> | undefined;
  readonly scope: string | undefined;
  readonly hasRefreshToken: boolean;
  readonly refreshes: number;
  readonly notice: string | undefined;
  /** URL of the provider's account page. */
  readonly accountUrl: string;
  /** The users who can sign in. */
  readonly users: readonly DemoUser[];
}

export interface DemoUser {
  readonly username: string;
  readonly password: string;
}

const style = `
:root { color-scheme: light dark; --line: light-dark(#dfe3ea, #2b313d); --muted: light-dark(#586174, #a3adbf); --brand: light-dark(#1f5fd6, #8ab4ff); font: 16px/1.5 system-ui, sans-serif; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 46rem; padding: 2.5rem 1rem; background: light-dark(#f3f5f9, #0f1218); color: light-dark(#171b22, #eceff5); }
main { padding: 2rem; border: 1px solid var(--line); border-radius: 18px; background: light-dark(#fff, #181c24); overflow-wrap: anywhere; }
h1 { margin: 0 0 .5rem; font-size: 1.75rem; line-height: 1.25; letter-spacing: -.02em; } h2 { margin: 2rem 0 .5rem; font-size: 1.0625rem; }
p { margin: .5rem 0 0; } .muted { color: var(--muted); } a { color: var(--brand); }
pre { margin: 0; padding: 1rem; border: 1px solid var(--line); border-radius: 12px; font: .8125rem/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .625rem; margin: 1.5rem 0 0; }
a.button { padding: .625rem 1rem; border: 1px solid light-dark(#8a94a6, #6d778a); border-radius: 10px; text-decoration: none; color: inherit; font-weight: 600; }
a.button:first-child { border-color: transparent; background: var(--brand); color: light-dark(#fff, #0b0d12); }
a:focus-visible { outline: 3px solid var(--brand); outline-offset: 2px; }
table { border-collapse: collapse; } th { color: var(--muted); font-weight: 500; text-align: start; } th, td { padding: .25rem 1.5rem .25rem 0; } code { font: .875rem/1.5 ui-monospace, monospace; }
.notice { margin: 1rem 0 0; padding: .75rem 1rem; border-radius: 10px; background: light-dark(#eaf0fc, #1d2a41); }
@media (max-width: 30rem) { body { padding: 1.25rem .75rem; } main { padding: 1.5rem 1.25rem; } a.button { flex: 1 1 100%; text-align: center; } }`;

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function json(id: string, title: string, value: unknown): string {
  return value === undefined
    ? ""
    : `<h2>${title}</h2><pre id="${id}">${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;
}

function signInAs(users: readonly DemoUser[]): string {
  const rows = users.map(
    ({ username, password }) =>
      `<tr><td>${escapeHtml(username)}</td><td><code>${escapeHtml(password)}</code></td></tr>`,
  );
  if (rows.length === 0) return "";
  return `<h2>Who can sign in</h2><table id="users"><thead><tr><th scope="col">User name</th><th scope="col">Password</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

function button(id: string, label: string): string {
  return `<a class="button" id="${id}" href="/${id}">${label}</a>`;
}

/** **The page of the demo**: the signed-in user, the tokens' contents, and a button per action. */
export function demoPage({
  claims,
  userinfo,
  scope,
  hasRefreshToken,
  refreshes,
  notice,
  accountUrl,
  users,
}: DemoState): string {
  const name = typeof userinfo?.name === "string" ? userinfo.name : claims?.sub;
  const title = name === undefined ? "You are not signed in" : `Hello, ${name}`;
  const buttons =
    claims === undefined
      ? [
          button("login", "Sign in"),
          button("login-offline", "Sign in and stay connected"),
          button("silent", "Try silently"),
        ]
      : [
          button("check", "Check the access token"),
          ...(hasRefreshToken ? [button("refresh", "Refresh")] : []),
          button("silent", "Sign in silently"),
          button("reauthenticate", "Confirm it is you"),
          button("select-account", "Choose an account"),
          button("logout", "Sign out"),
        ];
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Demo application</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><style>${style}</style></head><body><main>
<h1 id="greeting">${escapeHtml(title)}</h1>
<p class="muted">A small relying party. It signs you in at the provider and shows what it receives.</p>
${notice === undefined ? "" : `<p class="notice" id="notice" role="status">${escapeHtml(notice)}</p>`}
<nav aria-label="Actions">${buttons.join("")}</nav>
<p><a id="account" href="${escapeHtml(accountUrl)}">Your account at the provider</a></p>
${claims === undefined ? signInAs(users) : ""}${scope === undefined ? "" : `<p>Scope: <code id="scope">${escapeHtml(scope)}</code>${refreshes > 0 ? ` · refreshed <span id="refreshes">${refreshes}</span> times` : ""}</p>`}
${json("claims", "ID token", claims)}${json("userinfo", "UserInfo", userinfo)}
</main></body></html>`;
}
