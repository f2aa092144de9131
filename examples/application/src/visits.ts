import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type * as oidc from "openid-client";

/** The state of one browser. */
export interface Visit {
  pending: { state: string; nonce: string; verifier: string; maxAge: number | undefined } | undefined;
  tokens: (oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers) | undefined;
  claims: oidc.IDToken | undefined;
  idToken: string | undefined;
  userinfo: oidc.UserInfoResponse | undefined;
  refreshes: number;
  notice: string | undefined;
}

const cookieName = "demo-visit";

/** **The browsers that visit the application**, by their cookie, in memory. */
export class Visits {
  readonly #known = new Map<string, Visit>();

  /** That of the browser of a request; a new one gets a cookie. */
  of(request: IncomingMessage, response: ServerResponse): Visit {
    const cookie = request.headers.cookie ?? "";
    const known = new RegExp(`(?:^|; )${cookieName}=([\\w-]+)`).exec(cookie)?.[1];
    const visit = known === undefined ? undefined : this.#known.get(known);
    if (visit !== undefined) return visit;
    const id = randomBytes(24).toString("base64url");
    const fresh: Visit = {
      pending: undefined,
      tokens: undefined,
      claims: undefined,
      idToken: undefined,
      userinfo: undefined,
      refreshes: 0,
      notice: undefined,
    };
    this.#known.set(id, fresh);
    request.headers.cookie = `${cookieName}=${id}`;
    response.setHeader("set-cookie", `${cookieName}=${id}; Path=/; HttpOnly; SameSite=Lax`);
    return fresh;
  }

  /** Those that a session of the provider signed in. */
  ofSession(sid: unknown): Visit[] {
    return [...this.#known.values()].filter(({ claims }) => claims?.sid === sid);
  }
}

export function forget(visit: Visit): void {
  visit.tokens = undefined;
  visit.claims = undefined;
  visit.idToken = undefined;
  visit.userinfo = undefined;
}
