import { formToken, requireFormToken } from "@edge-op/pages/form-token";
import { createFrame } from "@edge-op/pages/frame";
import { type PageOptions, respondPage } from "@edge-op/pages/respond-page";
import { readForm } from "@edge-op/shared/http/read-form";
import { readConsoleBranding } from "./branding.ts";
import { ConsolePage } from "./console-page.tsx";
import { consoleCatalog } from "./messages.ts";
import { type ConsoleRoute, type PageCall, type SignedIn, signOutOf, type View } from "./route.ts";

/** The purpose of a form's token is the path that it is posted to: a token of one record's form changes no other record. */
export function tokenFor({ context, session }: SignedIn, path: string): Promise<string> {
  return formToken(context, `console ${path}`, session.id);
}

export function requireToken(
  { context, session, path }: Pick<SignedIn, "context" | "session" | "path">,
  presented: string | undefined,
): Promise<void> {
  return requireFormToken(context, `console ${path}`, session.id, presented);
}

/** The call with what its page needs. A posted form is read, and refused unless its token is genuine. */
export async function pageCall(at: SignedIn): Promise<PageCall> {
  const frame = await createFrame(at.context, at.request, readConsoleBranding(at.context.env), consoleCatalog);
  const form = at.request.method === "POST" ? readForm(at.request) : undefined;
  if (form !== undefined) await requireToken(at, form.get("token"));
  return { ...at, frame, t: frame.t, form, token: (path = at.path) => tokenFor(at, path) };
}

/** The page of a view, as strict as those of sign-in, and without a script of its own. */
export async function respondView(
  at: PageCall,
  { title, children }: View,
  options: PageOptions = {},
): Promise<Response> {
  const { session, path, frame } = at;
  const signOutToken = await at.token(signOutOf(session));
  return respondPage(<ConsolePage {...{ frame, session, path, title, signOutToken }}>{children}</ConsolePage>, {
    foreignImages: false,
    ...options,
  });
}

interface PageSpec {
  readonly path: string;
  readonly scope: ConsoleRoute["scope"];
  readonly isOfMember?: true;
  readonly operations: readonly string[];
  /** The page has a form that is posted to it, and changes nothing. */
  readonly isPosted?: true;
  show(at: PageCall): Promise<View>;
}

/** **A page that shows something.** */
export function definePage(spec: PageSpec): ConsoleRoute {
  const { show, isPosted, ...route } = spec;
  return {
    ...route,
    accepts: isPosted ? ["GET", "POST"] : ["GET"],
    async respond(at) {
      const call = await pageCall(at);
      return respondView(call, await show(call));
    },
  };
}
