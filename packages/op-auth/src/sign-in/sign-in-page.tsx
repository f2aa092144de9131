import { ownText } from "@edge-op/pages/branding";
import { ClientMark } from "@edge-op/pages/client-mark";
import { describeWait } from "@edge-op/pages/describe-values";
import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import type { UpstreamDocument } from "@edge-op/shared/upstreams/upstream";
import type { User } from "@edge-op/shared/users/user";
import type { Child } from "hono/jsx";
import { passkeyMethod } from "../factors/passkey-method.tsx";
import { PasskeyFailure } from "../factors/passkey-parts.tsx";
import { ClientLinks, type ClientPages } from "../pages/describe-client.tsx";
import { type OtherWay, OtherWays } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { WhoHelps } from "../pages/who-helps.tsx";
import { passwordMethod } from "../passwords/password-method.tsx";
import type { LinkMark, UpstreamProblem } from "../step/flow.ts";
import type { SignInMethod, SignInText } from "../step/sign-in-method.ts";
import type { StepForm } from "../step/step.ts";
import { upstreamMethod } from "../upstream/upstream-method.tsx";
import type { ReasonToSignInAgain } from "./sign-in-state.ts";

export interface SignInView {
  readonly form: StepForm;
  /** Absent for a sign-in to the account pages. */
  readonly client: (ClientPages & { readonly name: string; readonly logoUri: string | undefined }) | undefined;
  /** The signed-in person who is to confirm their sign-in; absent for any other sign-in. */
  readonly account: User | undefined;
  /** Why the person must sign in again. */
  readonly reason: SignInReason | undefined;
  /** Two factors are required, or a passkey. */
  readonly needsTwoFactors: boolean;
  readonly problem: SignInProblem | undefined;
  /** An identity elsewhere that the person may connect with the account to which they sign in. */
  readonly link: LinkMark | undefined;
  /** The provider to which the people of the typed address's domain belong. */
  readonly discovered: Pick<UpstreamDocument, "name" | "discovery"> | undefined;
  /** Set if the client requires an `acr` that only some methods reach: the first method that does. */
  readonly required: SignInMethod | undefined;
  /** The methods that satisfy the request. */
  readonly methods: readonly SignInMethod[];
  readonly parts: readonly SignInPart[];
  /** Whether the providers come before the password. */
  readonly areProvidersFirst: boolean;
  /** This page, for a person who comes back to it. */
  readonly again: string;
  /** Whether a person without an account may create one. */
  readonly canSignUp: boolean;
}

export interface SignInPart {
  readonly method: SignInMethod;
  readonly element: Child | undefined;
}

export interface SignInReason {
  readonly kind: ReasonToSignInAgain;
  /** The preferred method, for `preferred acr`. */
  readonly method?: SignInMethod | undefined;
}

export type SignInProblem =
  | { readonly kind: "refused"; readonly method: SignInMethod }
  | { readonly kind: "throttled"; readonly seconds: number }
  /** The method does not satisfy the `acr` that the client requires. */
  | { readonly kind: "not allowed" }
  | { readonly kind: "changed" }
  /** The person is suspended, and has proven who they are. */
  | { readonly kind: "suspended" }
  | UpstreamProblem;

interface Props {
  readonly frame: AuthPageFrame;
  readonly view: SignInView;
}

/** **The sign-in page**: the parts of its methods, and buttons to use another account or to cancel. */
export function SignInPage({ frame, view }: Props) {
  const { t } = frame;
  const { account, client, methods } = view;
  const own = (place: "sign_in_heading" | "sign_in_intro") =>
    account ? undefined : ownText(frame.branding, place, t.language);
  const title = own("sign_in_heading") ?? t(account ? "signIn.again" : "signIn.title");
  const intro = own("sign_in_intro");
  const alert = describeAlert(frame, view);
  const formId = methods.includes(passwordMethod) ? "credentials" : undefined;
  return (
    <Layout {...frame} title={title} scripts={methods.flatMap(({ scripts }) => scripts)} formId={formId}>
      <div class="head">
        {client && <ClientMark name={client.name} logoUri={client.logoUri} />}
        <h1>{title}</h1>
        <p class="muted" id="purpose">
          {describePurpose(frame, view)}
        </p>
        {intro && <p id="intro">{intro}</p>}
        {account && <Person name={displayName(account)} text={displayName(account)} />}
      </div>
      {alert && (
        <p class="note bad" role="alert" id="problem">
          {alert}
        </p>
      )}
      {view.problem?.kind === "suspended" && <WhoHelps frame={frame} text={t("signIn.suspendedHelp")} />}
      {view.link && (
        <p class="note good" role="status" id="link">
          {describeLink(frame, view.link)}
        </p>
      )}
      {view.discovered && view.link === undefined && (
        <p class="note" role="status" id="discovered">
          {t(view.discovered.discovery === "require" ? "upstream.elsewhere" : "upstream.alsoElsewhere", {
            provider: view.discovered.name,
          })}
        </p>
      )}
      {methods.includes(passkeyMethod) && (
        <PasskeyFailure t={t} text={methodText(frame, passkeyMethod, "refused", view)} />
      )}
      <Parts frame={frame} view={view} />
      {view.required === passkeyMethod && <MissingPasskey frame={frame} view={view} />}
      <OtherWays
        frame={frame}
        form={view.form}
        formId={formId}
        ways={otherWays(frame, view)}
        canCancel={client !== undefined || account !== undefined}
      />
      {client && <ClientLinks t={t} client={client} />}
    </Layout>
  );
}

function otherWays({ t }: AuthPageFrame, { canSignUp, account }: SignInView): (OtherWay | undefined)[] {
  return [
    canSignUp ? { name: "sign-up", value: "1", id: "sign-up", text: t("signUp.offer") } : undefined,
    account ? { name: "account", value: "other", id: "other-account", text: t("signIn.other") } : undefined,
  ];
}

/** The parts of the methods, with one word between the fields and the buttons. */
function Parts({ frame, view }: Props) {
  const { parts, areProvidersFirst } = view;
  const offered = parts.filter(({ element }) => element !== undefined);
  const isFirst = ({ method }: SignInPart) => areProvidersFirst && method === upstreamMethod;
  const first = offered.filter(isFirst);
  const fields = offered.filter(({ method }) => method.placement === "fields");
  const last = offered.filter((part) => part.method.placement === "button" && !isFirst(part));
  const or = frame.t("upstream.or");
  const below = last.length > 0 && fields.length > 0 && first.length === 0;
  // Buttons of a script alone are hidden until it runs.
  const hidden = last.every(({ method }) => method.scripts.length > 0)
    ? { "data-with-passkey": true, hidden: true }
    : {};
  const show = (some: readonly SignInPart[]) =>
    some.length > 0 && <div class="stack">{some.map(({ element }) => element)}</div>;
  return (
    <>
      {show(first)}
      {first.length > 0 && fields.length + last.length > 0 && <p class="or">{or}</p>}
      {fields.map(({ element }) => element)}
      {below && (
        <p class="or" {...hidden}>
          {or}
        </p>
      )}
      {show(last)}
    </>
  );
}

/** For a person who has no passkey where one is required: the way to create one, and the way back. */
function MissingPasskey({ frame: { t }, view }: Props) {
  return (
    <div class="stack top">
      <p class="muted small">{t("passkey.lacking")}</p>
      <a class="button quiet" href="/account" target="_blank" rel="noopener" id="create-at-account">
        {t("passkey.create")}
      </a>
      <a class="button quiet" href={view.again} id="has-passkey">
        {t("passkey.again")}
      </a>
    </div>
  );
}

function methodText({ t }: AuthPageFrame, method: SignInMethod, text: SignInText, { client }: SignInView): string {
  return t(`${method.name}.${text}`, { client: client?.name ?? "" });
}

function describeLink({ t }: AuthPageFrame, { provider, address }: LinkMark): string {
  return address === undefined ? t("upstream.exists", { provider }) : t("upstream.existsAs", { provider, address });
}

function describePurpose(frame: AuthPageFrame, view: SignInView): string {
  const { branding } = frame;
  const { t } = frame;
  const { account, client, reason } = view;
  if (client === undefined)
    return account
      ? t(view.needsTwoFactors ? "signIn.againTwoFactors" : "signIn.againAccount")
      : t("signIn.toProvider", { provider: branding.name });
  const values = { client: client.name };
  switch (reason?.kind) {
    case "preferred acr":
      return reason.method ? methodText(frame, reason.method, "preferred", view) : t("signIn.to", values);
    case "prompt=login":
      return t("signIn.againPrompt", values);
    case "max_age":
      return t("signIn.againMaxAge", values);
    default:
      return t("signIn.to", values);
  }
}

function describeAlert(frame: AuthPageFrame, view: SignInView): string | undefined {
  const { problem, required, account } = view;
  if (problem?.kind === "changed") return frame.t("signIn.changed");
  if (problem?.kind === "suspended") return frame.t("signIn.suspended");
  if (problem?.kind === "throttled")
    return frame.t("signIn.throttled", { wait: describeWait(frame.t.language, problem.seconds) });
  if (problem?.kind === "upstream") {
    const key = problem.isDeclined ? "declined" : problem.reason;
    return frame.t(`upstream.${key}`, { provider: problem.provider });
  }
  if (problem?.kind === "refused") return methodText(frame, problem.method, account ? "refusedAgain" : "refused", view);
  return required && methodText(frame, required, "required", view);
}
