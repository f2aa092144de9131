import { clientMark } from "@edge-op/pages/client-mark";
import { identifyBrowser } from "@edge-op/pages/cookies";
import { describeWait } from "@edge-op/pages/describe-values";
import { formToken, requireFormToken } from "@edge-op/pages/form-token";
import { MessagePage } from "@edge-op/pages/message-pages";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import type { WaitingDevice } from "@edge-op/shared/codes/device-code-rpc";
import { formatUserCode, readUserCode } from "@edge-op/shared/codes/user-code";
import { settle } from "@edge-op/shared/control/settle";
import { readForm } from "@edge-op/shared/http/read-form";
import type { Session } from "@edge-op/shared/sessions/session-rpc";
import { asPerson, signInOrChoose } from "../account/require-person.ts";
import { adminResource } from "../consent/allowances.ts";
import { describeDetails } from "../consent/describe-details.ts";
import { releasedAttributes, requestedAllowances } from "../consent/requested-access.ts";
import { readPersonFacts } from "../flow/person-facts.ts";
import { accountPolicy } from "../flow/policy.ts";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import { pathToChoose } from "../session/account-list.tsx";
import { readAccounts } from "../session/browser-accounts.ts";
import type { SignedInPerson } from "../session/signed-in-person.ts";
import { reasonToSignInAgain } from "../sign-in/sign-in-state.ts";
import { signInFor } from "../step/sealed-flow.ts";
import { mfaAcr, neededFactor } from "../step/second-factor.ts";
import { findFactorsToPrefer } from "../step/step-request.ts";
import { approveDevice } from "./approve-device.ts";
import { ConfirmDevicePage, EnterCodePage } from "./device-pages.tsx";
import { findWaitingDevice, readDeviceAuthorization } from "./waiting-device.ts";

/**
 * **`GET /device`**: shows the field for the code or, with a code, the page that confirms it. A GET decides nothing. Cost: 1 object call; with a code
 * 4.
 */
export async function showDevice(at: PageRequest): Promise<Response> {
  const parameters = new URL(at.request.url).searchParams;
  const result = parameters.get("result");
  if (result === "allowed" || result === "denied") return showResult(at, result);
  const typed = parameters.get("user_code") ?? undefined;
  return asPersonWith(at, typed, (person) => (typed === undefined ? enterCode(at) : confirmCode(at, person, typed)));
}

/**
 * **`POST /device`**: a typed code, or the person's decision about one. A decision needs the form token of the page that showed this code to this
 * person, so that no link or other site can decide; a code with this token is not counted as a guess. Sending the same decision twice (a double
 * click) has one result. Cost of a decision: 3 object calls, 2 D1 calls.
 */
export async function decideDevice(at: PageRequest): Promise<Response> {
  const { context, request } = at;
  const form = readForm(request);
  const typed = form.get("user_code");
  const decision = form.get("decision");
  const code = readUserCode(typed ?? "");
  if (decision === undefined || code === undefined) return redirect(pathOf(code ?? typed));
  return asPersonWith(at, typed, async (person) => {
    const { sessionId, user } = person;
    await requireFormToken(context, formPurpose(code, user.sub), sessionId, form.get("form_token"));
    if (decision === "other") return toOtherAccount(at, pathOf(code));
    const { deviceCodes } = at.isolate;
    const device = await deviceCodes.findFor(context, code, user.sub);
    const kind = decision === "allow" ? "approve" : "deny";
    if (device === undefined) return enterCode(at, typed, { kind: "unknown" });
    // The first decision stands: repeating it returns its result; a different decision finds no waiting device.
    if ("decided" in device) {
      return device.decided === kind ? redirect(resultPaths[kind]) : enterCode(at, typed, { kind: "unknown" });
    }
    const again = kind === "approve" ? await signInAgain(at, person, device, code) : undefined;
    if (again !== undefined) return again;
    const stands =
      kind === "approve"
        ? await approveDevice(at, person, device, code)
        : await deviceCodes.decide(context, code, { kind });
    return stands ? redirect(resultPaths[kind]) : enterCode(at, typed, { kind: "unknown" });
  });
}

async function toOtherAccount(at: PageRequest, path: string): Promise<Response> {
  const { all } = await readAccounts(at.context, at.request);
  return all.length > 1 ? redirect(pathToChoose(path)) : signInFor(at, path, { otherAccount: true });
}

const resultPaths = { approve: "/device?result=allowed", deny: "/device?result=denied" } as const;

/** The form token is bound to the code, the person and the session. */
function formPurpose(code: string, sub: string): string {
  return `device ${code} ${sub}`;
}

/** Keeps up to 24 characters of an invalid code, so that the person can correct it. */
function pathOf(codeOrText: string | undefined): string {
  if (codeOrText === undefined) return "/device";
  const code = readUserCode(codeOrText);
  const text = code === undefined ? codeOrText.slice(0, 24) : formatUserCode(code);
  return `/device?${new URLSearchParams({ user_code: text })}`;
}

/** Serves the signed-in person, and redirects anyone else to sign in first. A code is looked up only for a person. */
function asPersonWith(
  at: PageRequest,
  typed: string | undefined,
  serve: (person: SignedInPerson) => Promise<Response>,
): Promise<Response> {
  return asPerson(at, serve, () => signInOrChoose(at, pathOf(typed)));
}

type Problem = Exclude<Awaited<ReturnType<typeof findWaitingDevice>>, { readonly kind: "waiting" }>;

async function enterCode(at: PageRequest, typed?: string, problem?: Problem): Promise<Response> {
  const frame = await frameOf(at.context, at.request);
  const { t } = frame;
  const isThrottled = problem?.kind === "throttled";
  const text = isThrottled
    ? t("signIn.throttled", { wait: describeWait(t.language, problem.seconds) })
    : problem && t("device.invalid");
  return respondPage(<EnterCodePage frame={frame} view={{ typed, problem: text }} />, {
    status: problem === undefined ? 200 : isThrottled ? 429 : 400,
    headers: isThrottled ? { "Retry-After": String(problem.seconds) } : {},
  });
}

async function confirmCode(at: PageRequest, person: SignedInPerson, typed: string): Promise<Response> {
  const { context, isolate, request } = at;
  const { user, sessionId } = person;
  const code = readUserCode(typed);
  if (code === undefined) return enterCode(at, typed, { kind: "unknown" });
  const found = await findWaitingDevice(at, user.sub, code);
  if (found.kind !== "waiting") return enterCode(at, typed, found);
  const { device } = found;
  const client = await isolate.clients.find(context, device.clientId);
  if (client?.status !== "active") return enterCode(at, typed, { kind: "unknown" });
  const again = await signInAgain(at, person, device, code);
  if (again !== undefined) return again;
  const frame = await frameOf(context, request);
  const authorization = readDeviceAuthorization(device);
  const { scope, resources, claims, authorizationDetails, place, requestedAtMs } = authorization;
  const asked = requestedAllowances({ scope, claims, resources });
  const [described, attributes] = await Promise.all([
    isolate.resources.findAll(context, resources),
    releasedAttributes(at, device.clientId, asked, user),
  ]);
  const view = {
    formToken: await formToken(context, formPurpose(code, user.sub), sessionId),
    userCode: code,
    client: clientMark(client),
    user,
    ...{ asked, attributes },
    resources: [...described, adminResource(context.settings.issuer, frame.t)],
    details: describeDetails(context.settings, frame.t, authorizationDetails),
    place,
    minutes: Math.max(0, Math.floor((context.arrivedAtMs - requestedAtMs) / 60_000)),
  };
  return respondPage(<ConfirmDevicePage frame={frame} view={view} />);
}

/**
 * A redirect to the sign-in page if the session does not satisfy the request: `max_age` and the preferred `acr` are satisfied by one sign-in since
 * the request, the essential `acr` and a required second factor only by proofs that reach them.
 */
async function signInAgain(
  at: PageRequest,
  { session }: SignedInPerson,
  device: WaitingDevice,
  code: string,
): Promise<Response | undefined> {
  const { maxAgeSeconds, preferredAcr, requiredAcr, requestedAtMs, scope } = readDeviceAuthorization(device);
  const requirements = { requiredAcr, prompt: [], preferredAcr, maxAgeSeconds };
  const lacking = await findLacking(at, session, { clientId: device.clientId, scope });
  if (lacking === "second factor") return signInFor(at, pathOf(code), { requiredAcr: mfaAcr });
  if (lacking === "terms") return signInFor(at, pathOf(code));
  const factors = await findFactorsToPrefer(at, requirements, session);
  const reason = reasonToSignInAgain(requirements, session.proofs, at.context.arrivedAtMs, factors);
  const isSettled = reason !== "required acr" && session.signedInAtMs >= requestedAtMs;
  if (reason === undefined || isSettled) return undefined;
  return signInFor(at, pathOf(code), requiredAcr === undefined ? {} : { requiredAcr });
}

/**
 * What the session does not have: a second factor that the client, the scope, a role or the deployment requires, or the terms in force, to which the
 * person agrees in the flow of a sign-in.
 */
async function findLacking(
  at: PageRequest,
  session: Session,
  { clientId, scope }: Pick<WaitingDevice, "clientId"> & { readonly scope: readonly string[] },
): Promise<"second factor" | "terms" | undefined> {
  const { context, isolate, request } = at;
  return settle(context, isolate, async () => {
    const client = await isolate.clients.find(context, clientId);
    const policy = accountPolicy(context, { client, scope });
    const browser = await identifyBrowser(context, request);
    const flow = { purpose: { kind: "authorize", parameters: [] }, proofs: [], marks: {}, isOpened: true } as const;
    const facts = await readPersonFacts(at, { flow, browser }, policy, session, session.sub);
    const nowMs = context.arrivedAtMs;
    if (neededFactor({ flow, facts: { ...facts, allowed: [] }, policy, nowMs }) !== undefined) return "second factor";
    return facts.terms === policy.terms ? undefined : "terms";
  });
}

async function showResult({ context, request }: PageRequest, result: "allowed" | "denied"): Promise<Response> {
  const frame = await frameOf(context, request);
  const { t } = frame;
  const view = { title: t(`device.${result}Title`), text: t(`device.${result}Text`) };
  return respondPage(<MessagePage frame={frame} {...view} sign={result === "allowed" ? "done" : "ended"} />);
}
