import type { Form } from "@edge-op/shared/http/read-form";
import type { SignInMethod } from "../../step/sign-in-method.ts";
import { passkeyMethod } from "./passkey/passkey-method.tsx";
import { passwordMethod } from "./password/password-method.tsx";
import { upstreamMethod } from "./upstream/upstream-method.tsx";

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

/** The method that a posted form belongs to. */
export function methodOf(form: Form): SignInMethod {
  return signInMethods.find(({ field }) => form.get(field) !== undefined) ?? signInMethods[0];
}
