import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../../auth-env.ts";
import { readDeployment } from "../../deployment.ts";
import type { Policy } from "../../step/step.ts";
import { methodsFor } from "../sign-in/methods.ts";

/** **The methods by which a new account may sign in**: those of the deployment that satisfy the request. */
export function signUpMethods(
  { env }: Pick<RequestContext<AuthEnv>, "env">,
  { requiredAcr }: Pick<Policy, "requiredAcr">,
): Readonly<Record<"passkey" | "password", boolean>> {
  const { methods } = readDeployment(env).signUp;
  const satisfying = methodsFor(requiredAcr).map(({ name }) => name);
  const allows = (name: "passkey" | "password") => methods.includes(name) && satisfying.includes(name);
  return { passkey: allows("passkey"), password: allows("password") };
}
