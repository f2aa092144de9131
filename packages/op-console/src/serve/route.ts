import type { PageFrame } from "@edge-op/pages/layout";
import type { Translator } from "@edge-op/pages/translator";
import type { Form } from "@edge-op/shared/http/read-form";
import type { Child } from "hono/jsx";
import type { AdminApi, AdminScope, MemberPermission } from "../api/admin-api.ts";
import type { ConsoleCall } from "../api/console-call.ts";
import type { ConsoleSession } from "../session/session.ts";
import type { ConsoleKey } from "./messages.ts";

/** **A request of somebody who is signed in.** */
export interface SignedIn extends ConsoleCall {
  readonly session: ConsoleSession;
  readonly api: AdminApi;
  /** A parameter of the path. */
  parameter(name: string): string;
  readonly query: URLSearchParams;
  /** The page's own path, without its query. */
  readonly path: string;
}

/** The same with the texts of the page. `form`: of a page that is posted to; its token is genuine. */
export interface PageCall extends SignedIn {
  readonly frame: PageFrame & { readonly t: Translator<ConsoleKey> };
  readonly t: Translator<ConsoleKey>;
  /** For forms of this page, or of another one. */
  token(path?: string): Promise<string>;
  readonly form: Form | undefined;
}

export interface View {
  readonly title: string;
  readonly children: Child;
}

/** **A page or a change of the console**, and what it needs and uses of the admin API. */
export interface ConsoleRoute {
  /** With parameters as `:name`. */
  readonly path: string;
  /** Without it, nobody sees the page or a link to it. None: every administrator. */
  readonly scope: AdminScope | MemberPermission | undefined;
  /** Of a member's own organisation, which the path names as `:org_id`. */
  readonly isOfMember?: true;
  /** The operations of the admin API that it calls, by their ids in the OpenAPI document. */
  readonly operations: readonly string[];
  readonly respond: (at: SignedIn) => Promise<Response>;
  readonly accepts: readonly ("GET" | "POST")[];
}

export function mayUse({ scopes }: Pick<ConsoleSession, "scopes">, scope: ConsoleRoute["scope"]): boolean {
  if (scope === undefined || scopes.includes(scope)) return true;
  return scope.startsWith("org:") && scopes.includes("org:owner");
}

/** Where the session of a page is ended. */
export function signOutOf({ orgId }: Pick<ConsoleSession, "orgId">): string {
  return orgId === undefined ? "/console/sign-out" : memberPath(orgId, "/sign-out");
}

/** A page of a member's own organisation. */
export function memberPath(orgId: string, below = ""): string {
  return `/organization/${encodeURIComponent(orgId)}${below}`;
}
