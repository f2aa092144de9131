import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { EmailAddress } from "@edge-op/shared/users/user-addresses";
import type { AuthEnv } from "../auth-env.ts";
import { readDeployment } from "../deployment.ts";
import type { Newcomer } from "../steps/flow.ts";
import type { StepRequest } from "../steps/step.ts";

type SignUpContext = Pick<RequestContext<AuthEnv>, "settings" | "env">;

/** **Whether anybody may sign up**, by the deployment's settings. */
export function isSignUpOpen({ settings }: SignUpContext): boolean {
  return settings.signUp === "open";
}

/** Whether the sign-in page offers it: not to a person whom the request names. */
export function isSignUpOffered({ context, policy }: Pick<StepRequest, "context" | "policy">): boolean {
  return isSignUpOpen(context) && policy.expectedSubject === undefined;
}

/** Whether a person with a proven address may get an account: decided again at the end, as the settings may have changed. An invitation names its address. */
export function mayCreate(context: SignUpContext, { address, invitation, isInvitedByOperator }: Newcomer): boolean {
  if (invitation !== undefined) return isInvitedByOperator === true || context.settings.signUp !== "off";
  return isSignUpOpen(context) && isDomainAllowed(context, address);
}

/** Compared exactly: `corp.example.evil` and subdomains are other domains. */
export function isDomainAllowed({ env }: SignUpContext, { key }: Pick<EmailAddress, "key">): boolean {
  const { domains } = readDeployment(env).signUp;
  return domains.length === 0 || domains.includes(key.slice(key.lastIndexOf("@") + 1));
}
