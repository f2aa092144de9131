import { MessagePage } from "@edge-op/pages/message-pages";
import { respondPage } from "@edge-op/pages/respond-page";
import { isPlainText, isVisibleText } from "@edge-op/shared/http/is-plain-text";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { EmailAddress } from "@edge-op/shared/users/user-addresses";
import { invalidIf } from "../pages/form-parts.tsx";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";
import type { Newcomer } from "../step/flow.ts";
import type { StepPageRequest, StepRequest } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";

type SignUpContext = Pick<RequestContext<AuthEnv>, "settings" | "env">;

/** **Whether anybody may sign up**, by the deployment's settings. */
export function isSignUpOpen({ settings }: SignUpContext): boolean {
  return settings.signUp === "open";
}

/** Whether the sign-in page offers it: not to a person whom the request names. */
export function isSignUpOffered({ context, policy }: Pick<StepRequest, "context" | "policy">): boolean {
  return isSignUpOpen(context) && policy.expectedSubject === undefined;
}

/**
 * Whether a person with a proven address may get an account: decided again at the end, as the settings may have changed. An invitation names its
 * address.
 */
export function mayCreate(context: SignUpContext, { address, invitation, isInvitedByOperator }: Newcomer): boolean {
  if (invitation !== undefined) return isInvitedByOperator === true || context.settings.signUp !== "off";
  return isSignUpOpen(context) && isDomainAllowed(context, address);
}

/** Compared exactly: `corp.example.evil` and subdomains are other domains. */
export function isDomainAllowed({ env }: SignUpContext, { key }: Pick<EmailAddress, "key">): boolean {
  const { domains } = readDeployment(env).signUp;
  return domains.length === 0 || domains.includes(key.slice(key.lastIndexOf("@") + 1));
}

/** The longest name of a person who signs up, in characters. */
export const longestName = 100;

/** A typed name: one line of text that can be seen, trimmed and normalized to NFC; `undefined` for anything else. Pure. */
export function readName(typed: string | undefined): string | undefined {
  const name = (typed ?? "").normalize("NFC").trim();
  const isName = isVisibleText(name) && [...name].length <= longestName && isPlainText(name);
  return isName ? name : undefined;
}

/** **Whether a person has an address, holds it, or has it as their username**, so that nobody else can sign up by it. Cost: 1 D1 call. */
export async function isIdentifierTaken(database: D1Database, key: string, atMs: number): Promise<boolean> {
  const select = peopleOf(database).prepare(
    `SELECT 1 FROM user_addresses WHERE address_key = ?1 AND coalesce(held_until_ms, ?2 + 1) > ?2
       UNION ALL SELECT 1 FROM users WHERE username_key = ?1 LIMIT 1`,
  );
  return (await queryDatabase(() => select.bind(key, atMs).first())) !== null;
}

/** The result of a step for an address that has an account, shown only to a person who has proven the mailbox. */
export const taken = { kind: "again", problem: { kind: "refused", method: "taken" } } as const;

/** **The page for a person whose address has an account**, with a link to signing in. `undefined` for any other person. */
export async function accountExists(at: StepPageRequest, address: string): Promise<Response | undefined> {
  const { flow, form } = at;
  if (flow.problem?.kind !== "refused" || flow.problem.method !== "taken") return undefined;
  const frame = await stepFrame(at);
  const { t } = frame;
  const link = { href: `/flow/sign-in?${new URLSearchParams({ f: form.fields.f })}`, text: t("signUp.signIn") };
  const view = { title: t("signUp.taken"), text: t("signUp.takenText", { address }), link };
  return respondPage(<MessagePage frame={frame} {...view} sign="ended" />);
}

/** The field for the name of a person who gets an account. */
export function NameField(props: {
  readonly label: string;
  readonly name: string | undefined;
  readonly isInvalid: boolean;
}) {
  return (
    <>
      <label for="name">{props.label}</label>
      <input
        id="name"
        name="name"
        type="text"
        autocomplete="name"
        required
        maxlength={longestName}
        value={props.name ?? ""}
        autofocus
        {...invalidIf(props.isInvalid)}
      />
    </>
  );
}
