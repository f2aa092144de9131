import { ClientMark } from "@edge-op/pages/client-mark";
import { describeWait } from "@edge-op/pages/describe-values";
import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import type { UpstreamDocument } from "@edge-op/shared/upstreams/upstream";
import type { User } from "@edge-op/shared/users/user";
import type { Child } from "hono/jsx";
import { ClientLinks, type ClientPages } from "../pages/describe-client.tsx";
import { type OtherWay, OtherWays } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { LinkMark, UpstreamProblem } from "../step/flow.ts";
import type { SignInMethod, SignInText } from "../step/sign-in-method.ts";
import type { StepForm } from "../step/step.ts";
import type { ReasonToSignInAgain } from "./sign-in-state.ts";

export interface SignInView {
  readonly form: StepForm;
  /** Absent for a sign-in to the account pages. */
  readonly client: (ClientPages & { readonly name: string; readonly logoUri: string | undefined }) | undefined;
  /** The signed-in person who is to confirm their sign-in; absent for any other sign-in. */
  readonly account: User | undefined;
  /** Why the person must sign in again. */
  readonly reason: SignInReason | undefined;
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
  /** Whether a forgotten password can be replaced by a code that is mailed. */
  readonly canRecover: boolean;
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
  | UpstreamProblem;

interface Props {
  readonly frame: AuthPageFrame;
  readonly view: SignInView;
}

/** **The sign-in page**: the parts of its methods, and buttons to use another account or to cancel. */
export function SignInPage({ frame, view }: Props) {
  const { t } = frame;
  const { account, client, methods } = view;
  const title = t(account ? "signIn.again" : "signIn.title");
  const alert = describeAlert(frame, view);
  return (
    <Layout {...frame} title={title} scripts={methods.flatMap(({ scripts }) => scripts)}>
      <div class="head">
        {client && <ClientMark name={client.name} logoUri={client.logoUri} />}
        <h1>{title}</h1>
        <p class="muted" id="purpose">
          {describePurpose(frame, view)}
        </p>
        {account && <Person name={displayName(account)} text={displayName(account)} />}
      </div>
      {alert && (
        <p class="note bad" role="alert" id="problem">
          {alert}
        </p>
      )}
      {view.link && (
        <p class="note good" role="status" id="link">
          {t("upstream.exists", { provider: view.link.provider })}
        </p>
      )}
      {view.discovered && view.link === undefined && (
        <p class="note" role="status" id="discovered">
          {t(view.discovered.discovery === "require" ? "upstream.elsewhere" : "upstream.alsoElsewhere", {
            provider: view.discovered.name,
          })}
        </p>
      )}
      {methods
        .filter(({ scripts }) => scripts.length > 0)
        .map((method) => (
          <p class="note bad" role="alert" hidden {...{ [`data-${method.name}-failure`]: true }}>
            {methodText(frame, method, "refused", view)}
          </p>
        ))}
      {partsAt(view, "fields")}
      <div class="actions">
        {partsAt(view, "button")}
        <OtherWays
          frame={frame}
          form={view.form}
          ways={otherWays(frame, view)}
          canCancel={client !== undefined || account !== undefined}
        />
      </div>
      {client && <ClientLinks t={t} client={client} />}
    </Layout>
  );
}

function otherWays({ t }: AuthPageFrame, { canRecover, canSignUp, account }: SignInView): (OtherWay | undefined)[] {
  return [
    canRecover ? { name: "recover", value: "1", id: "forgot", text: t("signIn.forgot") } : undefined,
    canSignUp ? { name: "sign-up", value: "1", id: "sign-up", text: t("signUp.offer") } : undefined,
    account ? { name: "account", value: "other", id: "other-account", text: t("signIn.other") } : undefined,
  ];
}

function partsAt({ parts }: SignInView, placement: SignInMethod["placement"]): (Child | undefined)[] {
  return parts.filter(({ method }) => method.placement === placement).map(({ element }) => element);
}

function methodText({ t }: AuthPageFrame, method: SignInMethod, text: SignInText, { client }: SignInView): string {
  return t(`${method.name}.${text}`, { client: client?.name ?? "" });
}

function describePurpose(frame: AuthPageFrame, view: SignInView): string {
  const { branding } = frame;
  const { t } = frame;
  const { account, client, reason } = view;
  if (client === undefined)
    return account ? t("signIn.againAccount") : t("signIn.toProvider", { provider: branding.name });
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
  if (problem?.kind === "throttled")
    return frame.t("signIn.throttled", { wait: describeWait(frame.t.language, problem.seconds) });
  if (problem?.kind === "upstream") {
    const key = problem.isDeclined ? "declined" : problem.reason;
    return frame.t(`upstream.${key}`, { provider: problem.provider });
  }
  if (problem?.kind === "refused") return methodText(frame, problem.method, account ? "refusedAgain" : "refused", view);
  return required && methodText(frame, required, "required", view);
}
