import type { IDToken } from "openid-client";

/** **What the demo shows**: who is signed in, what was received, and buttons for each thing that can be done with it. */
export interface DemoState {
  readonly claims: IDToken | undefined;
  readonly userinfo: Readonly<Record<string, unknown>> | undefined;
  readonly scope: string | undefined;
  readonly hasRefreshToken: boolean;
  readonly refreshes: number;
  readonly notice: string | undefined;
}

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; display: grid; place-items: start center; padding: 3rem 1rem; }
main { width: 100%; max-width: 44rem; }
h1 { letter-spacing: -.02em; } pre { overflow: auto; padding: 1rem; border: 1px solid #8884; border-radius: 10px; font-size: .8125rem; }
nav { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1.5rem 0; }
a.button { padding: .5rem 1rem; border: 1px solid #8888; border-radius: 8px; text-decoration: none; color: inherit; font-weight: 600; }
.notice { padding: .75rem 1rem; border-radius: 10px; background: #8882; }`;

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function json(id: string, title: string, value: unknown): string {
  return value === undefined
    ? ""
    : `<h2>${title}</h2><pre id="${id}">${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;
}

function button(id: string, label: string): string {
  return `<a class="button" id="${id}" href="/${id}">${label}</a>`;
}

export function demoPage({ claims, userinfo, scope, hasRefreshToken, refreshes, notice }: DemoState): string {
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
          ...(hasRefreshToken ? [button("refresh", "Refresh")] : []),
          button("silent", "Sign in silently"),
          button("reauthenticate", "Confirm it is you"),
          button("logout", "Sign out"),
        ];
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Demo application</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><style>${style}</style></head><body><main>
<h1 id="greeting">${escapeHtml(title)}</h1>
${notice === undefined ? "" : `<p class="notice" id="notice" role="status">${escapeHtml(notice)}</p>`}
<nav>${buttons.join("")}</nav>
${scope === undefined ? "" : `<p>Scope: <code id="scope">${escapeHtml(scope)}</code>${refreshes > 0 ? ` · refreshed <span id="refreshes">${refreshes}</span> times` : ""}</p>`}
${json("claims", "ID token", claims)}${json("userinfo", "UserInfo", userinfo)}
</main></body></html>`;
}
