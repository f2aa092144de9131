import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { passkeyMethod } from "../factors/passkey-method.tsx";
import { passwordMethod } from "../passwords/password-method.tsx";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";
import type { SignInMethod } from "../step/sign-in-method.ts";
import type { Policy } from "../step/step.ts";
import { upstreamMethod } from "../upstream/upstream-method.tsx";

/** **The sign-in methods**, in the order of the sign-in page. */
export const signInMethods: readonly [SignInMethod, ...SignInMethod[]] = [
  passwordMethod,
  passkeyMethod,
  upstreamMethod,
];

/** The methods whose proofs satisfy one of these `acr` values; all methods if the request requires no `acr`. */
export function methodsFor(requiredAcr: readonly string[] | undefined): SignInMethod[] {
  return signInMethods.filter(({ acrValues }) => requiredAcr?.some((acr) => acrValues.includes(acr)) ?? true);
}

/** The method that a posted form belongs to: a button of another method is part of the form for the password, and decides. */
export function methodOf(form: Form): SignInMethod | undefined {
  return signInMethods.findLast(({ field }) => form.get(field) !== undefined);
}

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
