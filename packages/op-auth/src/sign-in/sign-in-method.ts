import type { Script } from "@edge-op/pages/assets";
import type { Catalog, Language } from "@edge-op/pages/translator";
import type { Form } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Authentication, RefusedSignIn } from "@edge-op/shared/users/session-rpc";
import type { User } from "@edge-op/shared/users/user";
import type { Child } from "hono/jsx";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";

/**
 * **A way to sign in**: a folder beside this file exports one, and `page/sign-in-methods.ts` lists them. The list determines the parts
 * of the sign-in page, its scripts, which method verifies a posted form, and which methods satisfy the `acr` of a request.
 */
export interface SignInMethod {
  /** The method's name in log lines and audit events. */
  readonly name: RefusedSignIn["method"];
  /** The `acr` values that a sign-in by this method can have. */
  readonly acrValues: readonly string[];
  /** A field that the forms of this method contain, and those of other methods do not. */
  readonly field: string;
  readonly scripts: readonly Script[];
  /** Parts with input fields come first on the page, parts that are one button follow. */
  readonly placement: "fields" | "button";
  readonly texts: Catalog<SignInText>;
  /** The method's part of the sign-in page; `undefined` if the account cannot use the method. */
  render(at: SignInRequest, view: SignInMethodView): Promise<Child | undefined>;
  verify(at: SignInRequest, form: Form): Promise<SignInResult>;
}

/** `refusedAgain` is for a person whose account is known. `required` and `preferred` describe what `{client}` requests. */
export type SignInText = "refused" | "refusedAgain" | "required" | "preferred";

export interface SignInRequest {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
  /** The interaction that the page belongs to. */
  readonly id: string;
}

export interface SignInMethodView {
  readonly language: Language;
  readonly action: string;
  readonly formToken: string;
  /** The signed-in person who confirms the sign-in. */
  readonly account: User | undefined;
  /** The name typed before, or the client's `login_hint`. */
  readonly username: string | undefined;
  /** Whether an attempt by this method was just refused. */
  readonly isRefused: boolean;
  /** Whether the page offers another method above this one. */
  readonly isAlternative: boolean;
}

export type SignInResult =
  | { readonly kind: "signedIn"; readonly authentication: Authentication; readonly cookies: readonly string[] }
  | { readonly kind: "refused" }
  | { readonly kind: "throttled"; readonly seconds: number };
