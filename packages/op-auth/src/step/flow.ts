import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isFlag, isNumber, isText, listOf, objectOf, type TypeGuard } from "@edge-op/protocol/encoding/stored-json";
import { codeMethods, signInProofMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { CodePurpose } from "@edge-op/shared/mail/mail-sender-rpc";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { usableProofs } from "@edge-op/shared/sessions/usable-proofs";
import type { ShardAddress } from "@edge-op/shared/storage/shard-address";
import type { EmailAddress } from "@edge-op/shared/users/user-addresses";
import type { AuthorizationRequest } from "../authorization/authorization-request.ts";
import { isParameterValues, type ParameterValues } from "../authorization/stored-parameters.ts";
import type { Whose } from "../session/choose-account.ts";

/**
 * **A flow**: what a person is doing at this provider, from the first page to the session or the response. It travels sealed in the pages
 * (sealed-flow.ts). It contains no counter, policy or secret: a copy of an old page brings back nothing but proofs of this browser, and `fid` is
 * spent by the call that opens the session.
 */
export interface Flow {
  /** 128 random bits. */
  readonly fid: string;
  readonly startedAtMs: number;
  readonly purpose: Purpose;
  /** The shard of the session that this flow may open. */
  readonly shard: ShardAddress;
  /** Proofs made in this flow. */
  readonly proofs: readonly Proof[];
  /** Whether the proofs have opened a session. Without it, a signed-in person is not known by them any more. */
  readonly isOpened: boolean;
  readonly marks: Marks;
  /** The identifier that was typed last. */
  readonly typed?: string | undefined;
  /** Why the page is shown again. */
  readonly problem?: Problem | undefined;
  /** The page to which the problem belongs: any other one that is opened with this flow has none. */
  readonly problemAt?: string | undefined;
}

export type Purpose =
  | {
      readonly kind: "authorize";
      /** Parameters that have passed the checks. Each step checks them again, because the client may have changed. */
      readonly parameters: ParameterValues;
      /** The id of the pushed request, if there was one; the response spends it. */
      readonly pushedId?: string | undefined;
      /** For a client whose policy requires an organisation, and a request that names none. */
      readonly organization?: ChosenOrganization | undefined;
    }
  /** A sign-in to a page of this provider, by a method that reaches one of the `acr` values if the page requires it. */
  | { readonly kind: "account"; readonly path: string; readonly requiredAcr?: readonly string[] | undefined };

/** The organisation for which a person acts: chosen once in a flow, and void for anybody else. */
export interface ChosenOrganization {
  readonly orgId: string;
  readonly sub: string;
}

/** The person's choices in this flow, and what it has come to. */
export interface Marks {
  readonly accountSelected?: boolean;
  /** `sub` of the account of this browser that was chosen. The previous release takes the active one, which it is too. */
  readonly account?: string | undefined;
  /** The person chose to sign in to another account. */
  readonly otherAccount?: boolean | undefined;
  /** `sub` of the person who consented. */
  readonly consentedBy?: string;
  /** The code that was mailed last. */
  readonly mailed?: MailedCode | undefined;
  /** The person who gets new recovery codes, and the id of the set that they replace, "" for none. */
  readonly newCodes?: NewCodesMark | undefined;
  /** The person who has nothing but a mailbox left, and chose to recover their account by it alone. */
  readonly lostAll?: string | undefined;
  /** The person who has set up their first second factor in this flow: it waives no step that was needed before. */
  readonly enrolled?: string | undefined;
  /** The person who is signing up. */
  readonly newcomer?: Newcomer | undefined;
  /** The demand of the hook `beforeSignIn` beyond the proofs. */
  readonly demanded?: Demand | undefined;
  /** The person is asked to sign up and says that they have an account. */
  readonly hasAccount?: boolean;
  /** The name is settled, and the page asks for the password; `false`: its person changes it. The previous release asks for both. */
  readonly named?: boolean;
  /** The name that was typed with an address that was not accepted. */
  readonly typedName?: string | undefined;
  /** An identity at an upstream provider that its person may connect, after they have signed in here. */
  readonly link?: LinkMark | undefined;
}

export interface NewCodesMark {
  readonly sub: string;
  readonly replaced: string;
  /** They have one passkey and no other way in: another passkey is as good. */
  readonly hasOnePasskey?: boolean;
}

/** A demand of the hook `beforeSignIn` in a flow: a second factor, or a passkey. */
export type Demand = "mfa" | "phr";

/** **The person who is signing up in a flow.** Nothing about them is stored before they have an account. */
export interface Newcomer {
  readonly name: string;
  readonly address: EmailAddress;
  /** Chosen when the address was proven; absent before. */
  readonly sub?: string | undefined;
  /** The id of the invitation that proved the address. */
  readonly invitation?: string | undefined;
  /** The invitation does not depend on `SIGN_UP`. */
  readonly isInvitedByOperator?: boolean;
}

/** **A code that was requested for an address** (mailed-code.ts). It is derived from these members, so the page contains no secret. */
export interface MailedCode {
  readonly purpose: CodePurpose;
  /** As mail is sent to it. */
  readonly address: string;
  readonly sentAtMs: number;
  /** Where its attempts are counted; the same for each code of this flow, purpose and address. */
  readonly attempts: string;
  /** It was asked for in place of one before it. */
  readonly isAnother?: boolean;
}

export interface LinkMark {
  /** Where it waits (link-identity.ts). */
  readonly id: string;
  /** The account. */
  readonly sub: string;
  readonly upstreamId: string;
  readonly provider: string;
  /** The person's address there, with which the account was found. Absent in a flow of the previous release. */
  readonly address?: string | undefined;
}

export type Problem =
  | {
      readonly kind: "refused";
      readonly method: string;
      readonly unknownCredential?: string | undefined;
      /** What was typed, where the page shows it again. */
      readonly typed?: string | undefined;
    }
  /** The password was right; its person is suspended. */
  | { readonly kind: "suspended" }
  | { readonly kind: "throttled"; readonly untilMs: number; readonly typed?: string | undefined }
  | UpstreamProblem
  /** The method does not satisfy the `acr` that the client requires. */
  | { readonly kind: "not allowed" }
  /** A change of the user has ended the session that the sign-in opened. */
  | { readonly kind: "changed" }
  /** The flow has opened a session before. */
  | { readonly kind: "spent" };

/** Why a sign-in at an upstream provider, which `provider` names, did not work. */
export interface UpstreamProblem {
  readonly kind: "upstream";
  readonly reason: "cancelled" | "unreachable" | "failed" | "unknown" | "stale";
  /** The provider itself refused. The previous release, which does not read it, says that the person did not sign in there. */
  readonly isDeclined?: boolean;
  readonly provider: string;
}

const isAddress = objectOf<ShardAddress>({ generation: isNumber, region: isText, shard: isNumber });
const isProof = objectOf<Proof>({ method: isText, sub: isText, atMs: isNumber, controlVersion: isNumber });

/** A path of this origin: neither another origin (`//evil`, `/\evil`) nor a URL. */
export function isOwnPath(value: unknown): value is string {
  return isText(value) && /^\/(?![/\\])/.test(value);
}

const isAuthorize = objectOf<Extract<Purpose, { kind: "authorize" }>>({ kind: isText, parameters: isParameterValues });
const isAccount = objectOf<Extract<Purpose, { kind: "account" }>>({ kind: isText, path: isOwnPath });

const isPurpose: TypeGuard<Purpose> = (value): value is Purpose =>
  isJsonObject(value) && (value["kind"] === "authorize" ? isAuthorize(value) : isAccount(value));

/** **A flow that goes on for an organisation**, or for none that is chosen. */
export function forOrganization(flow: Flow, organization: ChosenOrganization | undefined): Flow {
  return flow.purpose.kind === "authorize" ? { ...flow, purpose: { ...flow.purpose, organization } } : flow;
}

/** The request of a flow, with the organisation that was chosen in it. */
export function withChoice<Request extends Pick<AuthorizationRequest, "organization" | "choosesOrganization">>(
  request: Request,
  purpose: Purpose,
): Request {
  const chosen = purpose.kind === "authorize" && request.choosesOrganization ? purpose.organization : undefined;
  return chosen === undefined ? request : { ...request, organization: chosen.orgId };
}

/** **A flow with the proofs that count for its organisation**, or for none (usable-proofs.ts). Whoever opens or continues a flow begins with it. */
export function ofOrganization(flow: Flow, organization: string | undefined): Flow {
  const proofs = usableProofs(flow.proofs, organization);
  return proofs === flow.proofs ? flow : { ...flow, proofs };
}

export const isFlow = objectOf<Flow>({
  fid: isText,
  startedAtMs: isNumber,
  purpose: isPurpose,
  shard: isAddress,
  proofs: listOf(isProof),
  isOpened: isFlag,
  marks: isJsonObject,
});

/** Whether a person has signed in in this flow. A code proves nothing without another proof, and a mailed code signs nobody in. */
export function isProvenIn({ proofs }: Pick<Flow, "proofs">, sub: string): boolean {
  return proofs.some((proof) => proof.sub === sub && signInProofMethods.includes(proof.method));
}

/** **Whose a flow is**: its proofs bind it to their person, and so does the choice of an account. */
export function whoseFlow({ proofs, marks }: Pick<Flow, "proofs" | "marks">, asked?: Whose["asked"]): Whose {
  const chosen = proofs[0]?.sub ?? (marks.otherAccount ? undefined : marks.account);
  return { chosen, isOther: marks.otherAccount === true && chosen === undefined, asked };
}

/** Proofs that have not opened a session yet. */
export function pendingProofs({ isOpened, proofs }: Pick<Flow, "isOpened" | "proofs">): readonly Proof[] {
  return isOpened ? [] : proofs;
}

export type ProvenNewcomer = Newcomer & { readonly sub: string };

/** **The person who is signing up**; `undefined` for one who has proven an existing or the new account. */
export function newcomerOf({ marks, proofs }: Pick<Flow, "marks" | "proofs">): Newcomer | undefined {
  return proofs.some(({ method }) => !codeMethods.includes(method)) ? undefined : marks.newcomer;
}

export function provenNewcomerOf(flow: Pick<Flow, "marks" | "proofs">): ProvenNewcomer | undefined {
  const newcomer = newcomerOf(flow);
  return newcomer?.sub === undefined ? undefined : { ...newcomer, sub: newcomer.sub };
}
