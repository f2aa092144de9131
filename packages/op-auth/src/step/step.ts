import type { Browser } from "@edge-op/pages/cookies";
import type { ProofMethod } from "@edge-op/protocol/oauth/authentication-context";
import type { OAuthErrorCode } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { Client } from "@edge-op/shared/clients/client";
import type { Form } from "@edge-op/shared/http/read-form";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import type { Factors } from "@edge-op/shared/users/factors";
import type { OwnOrganization } from "@edge-op/shared/users/organizations";
import type { AuthorizationRequest, CodeRequest } from "../authorization/authorization-request.ts";
import type { PageRequest } from "../pages/frame.ts";
import type { AddressRecovery } from "../session/address-recovery.ts";
import type { FoundAccount, SignedInPerson } from "../session/signed-in-person.ts";
import type { ChosenOrganization, Flow, Marks, Problem } from "./flow.ts";

/**
 * **A step of a flow**: a folder beside this file exports one, and `flow/steps.ts` lists them in their order. `state` is pure and decides whether the
 * step is needed; `page` shows its form; `submit` judges a posted form. The page is at `/flow/{name}`.
 */
export type Step = ProvingStep | WritingStep;

/** It adds proofs and choices of a person, and may be opened at any time: by a link, by going back, in an old tab. */
interface ProvingStep extends StepBase {
  readonly writes: false;
  submit(at: StepRequest, form: Form): Promise<StepResult>;
}

/** It stores something about a person, or shows what is about to be: it is served only while it is the next step of its flow (flow/find-next.ts). */
interface WritingStep extends StepBase {
  readonly writes: true;
  submit(at: DecidedRequest, form: Form): Promise<StepResult>;
}

interface StepBase {
  readonly name: StepName;
  /** The methods whose proofs this step adds. A proof of another method is a bug, and is never used. */
  readonly methods: readonly ProofMethod[];
  /** The page is for the person who is signed in: the session is opened before it, and its form is bound to the person. */
  readonly isForPerson: boolean;
  state(input: StepInput): StepState;
  /** Runs when a form has led to the page, in its request: a page itself sends nothing. Returns what the flow keeps of it. */
  begin?(at: BegunFlow, sub: string): Promise<Pick<Flow, "marks" | "problem">>;
  page(at: StepPageRequest): Promise<Response>;
}

export type StepName =
  | "sign-up"
  | "create-account"
  | "sign-in"
  | "recover"
  | "await-recovery"
  | "prove-more"
  | "confirm-browser"
  | "set-password"
  | "restore"
  | "enrol"
  | "recovery-codes"
  | "link"
  | "select-account"
  | "terms"
  | "organization"
  | "consent";

export type StepState =
  | { readonly kind: "done" }
  /** `error` is the response to `prompt=none`. */
  | { readonly kind: "needed"; readonly error: OAuthErrorCode }
  | Choice
  | Refusal;

/** The flow goes on for this organisation without a page; `undefined`: a choice of somebody else is void. */
export interface Choice {
  readonly kind: "choose";
  readonly organization: ChosenOrganization | undefined;
}

export interface Refusal {
  readonly kind: "refuse";
  readonly code: OAuthErrorCode;
  readonly reason: RefusalReason;
}

export interface StepInput {
  readonly flow: Pick<Flow, "purpose" | "proofs" | "marks">;
  readonly facts: Facts;
  readonly policy: Policy;
  readonly nowMs: number;
}

/** The factors of a person, and what a sign-in at their providers may reach beyond its own `acr`. */
export interface ReachingFactors extends Factors {
  readonly providerAcr?: readonly string[];
}

/** A recovery by mail alone is offered (recovery-by-address.ts). */
export interface OfferedRecovery {
  /** The one that was asked for before, whatever its state. */
  readonly recovery: AddressRecovery | undefined;
}

/** The facts about the signed-in person. Before a sign-in, no page depends on an account. */
export interface Facts {
  readonly person:
    | {
        readonly sub: string;
        /** The person's `sub` for the client. */
        readonly subject: string;
        readonly proofs: readonly Proof[];
        /** Read only if the policy names roles. */
        readonly roles: readonly string[];
        /** They have asked to delete their account. */
        readonly isLeaving: boolean;
      }
    | undefined;
  /** Their factors beside a password. Read only if the decision depends on them. */
  readonly factors: ReachingFactors | undefined;
  /** Whether they let this browser skip the second factor. */
  readonly isRemembered: boolean;
  /** They have not signed in in this browser yet. Read only if the policy asks. */
  readonly isNewBrowser?: boolean;
  /** They have a verified address. Read only in a new browser. */
  readonly isMailable?: boolean;
  /** The upstream provider that they must sign in with. Read only for a person who has proven something in this flow. */
  readonly requiredUpstream?: string | undefined;
  /** Nobody is named, and there are several accounts; or the client names another one. */
  readonly mustChoose?: boolean | undefined;
  /** The access that they have allowed the client. Read only if the policy remembers consent. */
  readonly allowed: readonly string[];
  /** Their recovery by mail alone. Read only for a person who has proven a mailbox and lacks what is asked for beside it. */
  readonly recovery?: OfferedRecovery | undefined;
  /** Whether they are an active member of the organisation of the request. Read only if it has one. */
  readonly isMember?: boolean;
  /** The organisations that they may choose. Read only if they have to. */
  readonly organizations?: readonly OwnOrganization[] | undefined;
  /** The organisation of the request requires two factors of its members. */
  readonly isStrictMember?: boolean;
  /** The version of the terms that they have agreed to. Read only if the policy names one. */
  readonly terms?: string | undefined;
}

/** The requirements of the client, its request and the deployment. Computed anew for each request, and never part of a page. */
export interface Policy
  extends Pick<AuthorizationRequest, "prompt" | "maxAgeSeconds" | "requiredAcr" | "preferredAcr" | "expectedSubject"> {
  /** The organisation of which the person must be a member. */
  readonly organization?: string | undefined;
  /** The request names none, and the person must choose one. */
  readonly choosesOrganization?: boolean;
  readonly consent: ConsentRule;
  readonly secondFactor: SecondFactorRule;
  /** A mailbox alone recovers an account, after a day (`RECOVERY=address`). */
  readonly recoversByAddress: boolean;
  /** A password alone needs a mailed code in a new browser. */
  readonly confirmsBrowsers: boolean;
  /** Roles whose people always need a second factor. */
  readonly mfaRoles: readonly string[];
  /** The access that the client requests. */
  readonly asked: readonly string[];
  /** The version of the deployment's terms that the person must have agreed to; `undefined`: none. */
  readonly terms?: string | undefined;
}

export type ConsentRule = "never" | "unless just signed in" | "remembered" | "each time";

/** When a sign-in needs two factors, beside what the request and a role require: those who have set up an app are always asked. */
export type SecondFactorRule = "always" | "unless remembered" | "if set up";

export type StepResult =
  | {
      readonly kind: "done";
      readonly proofs?: readonly Proof[];
      /** The previous proofs and the previous session are void. */
      readonly isAnew?: boolean;
      readonly marks?: Marks;
      readonly typed?: string | undefined;
      readonly cookies?: readonly string[];
      /** The access that the person has allowed the client, if it was read with their credential. */
      readonly allowed?: readonly string[] | undefined;
      /** Their second factors, likewise. */
      readonly factors?: Factors | undefined;
      /** The terms that they have agreed to, if only these were read with it. */
      readonly terms?: { readonly version: string | undefined };
      readonly organization?: ChosenOrganization;
      /** The person was active, as read at the version of these proofs: the decision after it needs no call for that. */
      readonly isActive?: boolean;
      /** Runs in parallel with the calls of the decision, once it stands. */
      write?(): Promise<unknown>;
    }
  | {
      readonly kind: "again";
      readonly problem: Problem;
      readonly typed?: string | undefined;
      readonly marks?: Marks;
    }
  | {
      readonly kind: "go to";
      readonly step: StepName;
      readonly marks?: Marks;
      readonly typed?: string | undefined;
    }
  /** The person continues at another provider, and comes back in another request. */
  | { readonly kind: "leave"; readonly location: string }
  | Refusal;

/** A request of a browser that is in a flow. */
export interface BegunFlow extends PageRequest {
  readonly flow: Flow;
  readonly browser: Browser;
}

export interface StepRequest extends BegunFlow {
  /** `undefined` for a sign-in to the account pages. */
  readonly authorization: { readonly client: Client; readonly request: CodeRequest } | undefined;
  readonly policy: Policy;
  /** The signed-in person whose flow it is; read once. Cost: 1 object call with a session cookie, else 0. */
  person(): Promise<SignedInPerson | undefined>;
  /** The same with who else was read for it, and whether the person has to choose. Cost: that of `person`. */
  account(): Promise<FoundAccount>;
}

/** The form of the step that is next. */
export interface DecidedRequest extends StepRequest {
  /** The person's second factors, if the decision depended on them. */
  readonly factors: Factors | undefined;
  readonly recovery?: OfferedRecovery | undefined;
}

export interface StepPageRequest extends StepRequest {
  readonly form: StepForm;
  /** Where a person goes on when the flow is spent. */
  readonly restart: string;
}

/** The action of a step's forms, and their hidden fields. */
export interface StepForm {
  readonly action: string;
  readonly fields: Readonly<Record<"f" | "form_token", string>>;
}
