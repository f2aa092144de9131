import type { Script } from "@edge-op/pages/assets";
import type { ProofMethod } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import type { Proof, RefusedSignIn } from "@edge-op/shared/sessions/session-rpc";
import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import type { Factors } from "@edge-op/shared/users/factors";
import type { User } from "@edge-op/shared/users/user";
import type { Child } from "hono/jsx";
import type { AuthTranslator } from "../pages/messages.ts";
import type { Marks } from "./flow.ts";
import type { StepForm, StepRequest, StepResult } from "./step.ts";

/**
 * **A way to sign in**: a folder below `sign-in/` exports one, and `sign-in/methods.ts` lists them. The list determines the parts of the sign-in
 * page, its scripts, which method verifies a posted form, and which methods satisfy the `acr` of a request.
 */
export interface SignInMethod {
  /** The method's name in log lines and audit events. */
  readonly name: Exclude<RefusedSignIn["method"], "code">;
  /** The proofs that a sign-in by this method can make. */
  readonly proofMethods: readonly ProofMethod[];
  /** The `acr` values that such a proof satisfies, alone or with a further one. */
  readonly acrValues: readonly string[];
  /** A field that the forms of this method contain, and those of other methods do not. */
  readonly field: string;
  readonly scripts: readonly Script[];
  /** Parts with input fields come first on the page, parts that are one button follow. */
  readonly placement: "fields" | "button";
  /** The method's part of the sign-in page; `undefined` if the account cannot use the method. */
  render(at: StepRequest, view: SignInMethodView): Promise<Child | undefined>;
  verify(at: StepRequest, form: Form): Promise<SignInResult | Detour>;
}

/**
 * The texts of each method, below its name. `refusedAgain` is for a person whose account is known. `required` and `preferred` describe what
 * `{client}` requests.
 */
export type SignInText = "refused" | "refusedAgain" | "required" | "preferred";

/** The one field of a sign-in page where the name comes first (identifier-first.ts). */
export type Asked = "name" | "password";

export interface SignInMethodView {
  readonly t: AuthTranslator;
  readonly form: StepForm;
  /** The signed-in person who confirms the sign-in. */
  readonly account: User | undefined;
  /** The name typed before, or the client's `login_hint`. */
  readonly username: string | undefined;
  /** `undefined`: name and password. */
  readonly asked?: Asked | undefined;
  /** The provider of the name's domain. */
  readonly discovered?: Upstream | undefined;
  /** The form for the password, if the page has one: buttons of other methods are part of it, so that what was typed is kept. */
  readonly formId?: string | undefined;
  /** The button beside the password, for a person who has forgotten it. */
  readonly forgotten?: Child | undefined;
  /** Whether an attempt by this method was just refused. */
  readonly isRefused: boolean;
  /** Whether the page offers another method above this one. */
  readonly isAlternative: boolean;
}

/** The person continues at another provider, or cannot. */
export type Detour = Extract<StepResult, { readonly kind: "leave" | "again" }>;

export type SignInResult =
  | {
      readonly kind: "signed in";
      readonly proof: Pick<Proof, "method" | "sub" | "credential">;
      readonly cookies: readonly string[];
      /** The access that the person has allowed the client of the request. */
      readonly allowed: readonly string[];
      /** Their second factors, if they were read with the credential. */
      readonly factors?: Factors;
      /** The terms that they have agreed to, if only these were read with it. */
      readonly terms?: { readonly version: string | undefined };
      readonly marks?: Marks;
      /** Records the use of the credential. */
      write?(): Promise<unknown>;
    }
  /** `unknownCredential`: the id of a passkey that nobody has here. */
  | { readonly kind: "refused"; readonly unknownCredential?: string | undefined }
  /** The credential is right; its person is suspended. */
  | { readonly kind: "suspended" }
  | { readonly kind: "throttled"; readonly seconds: number };
