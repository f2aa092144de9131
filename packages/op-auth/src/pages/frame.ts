import { brandingWith } from "@edge-op/pages/branding";
import { createFrame } from "@edge-op/pages/frame";
import { readLocales } from "@edge-op/pages/languages";
import type { PageFrame } from "@edge-op/pages/layout";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { User } from "@edge-op/shared/users/user";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { type AuthTranslator, authCatalog } from "./messages.ts";

/** **A request of a browser**, and what serves it. */
export interface PageRequest {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
}

export interface AuthPageFrame extends PageFrame {
  readonly t: AuthTranslator;
}

/** **The frame of an account page**: in the language of its person, unless one was chosen in this browser or by an application. */
export function personFrame(
  { context, request }: Pick<PageRequest, "context" | "request">,
  { claims: { locale } }: Pick<User, "claims">,
): Promise<AuthPageFrame> {
  const asked = readLocales(new URL(request.url).searchParams.get("ui_locales"));
  return frameOf(context, request, locale === undefined ? asked : [...asked, locale]);
}

type Upstreams = AuthIsolate["upstreams"];

interface Branded {
  readonly upstreams: Upstreams;
  /** The page calls no store: it has what the isolate holds. */
  readonly isPlain: boolean;
}

const branded = new WeakMap<RequestContext<AuthEnv>, Branded>();

/** **The pages of this request have the branding in force.** It is read at once, beside what a page reads itself. */
export function beginBranding(context: RequestContext<AuthEnv>, by: Branded, method: string): void {
  branded.set(context, by);
  if (!by.isPlain && method === "GET") void by.upstreams.branding(context);
}

/** **The frame of op-auth's pages**: the layout's, with the texts of op-auth and the branding in force. Of the page of a failure: without a call. */
export async function frameOf(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  uiLocales?: readonly string[],
  isFailure = false,
): Promise<AuthPageFrame> {
  const { upstreams, isPlain } = branded.get(context) ?? {};
  const record = isFailure || isPlain ? upstreams?.heldBranding(context) : await upstreams?.branding(context);
  const branding = brandingWith(readDeployment(context.env), record);
  return createFrame(context, request, branding, authCatalog, uiLocales);
}
