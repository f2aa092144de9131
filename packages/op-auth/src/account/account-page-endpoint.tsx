import { formToken } from "@edge-op/pages/form-token";
import { respondPage } from "@edge-op/pages/respond-page";
import { listUserSessions } from "@edge-op/shared/sessions/user-sessions";
import { findPassword, listPasskeys } from "@edge-op/shared/users/credentials";
import { listFactors } from "@edge-op/shared/users/factors";
import { listIdentities } from "@edge-op/shared/users/identities";
import { listAddresses } from "@edge-op/shared/users/user-addresses";
import { adminResource, allowedResources } from "../consent/allowances.ts";
import { describeDetails } from "../consent/describe-details.ts";
import { allowedDetails } from "../consent/requested-access.ts";
import { personSignal } from "../factors/passkey-parts.tsx";
import { passkeyRegistrationOptions } from "../factors/register-passkey.ts";
import { personalDates } from "../pages/describe-values.ts";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { findAgreement } from "../session/agreed-terms.ts";
import type { SignedInPerson } from "../session/signed-in-person.ts";
import { readNotice } from "./account-notices.ts";
import { AccountPage, type AccountView } from "./account-page.tsx";
import { listApplications } from "./applications.ts";
import { mayAddConditionally, mayAddPasskey } from "./factor-level.ts";
import { mayChangeName } from "./name-section.tsx";
import { accountForms, asPerson } from "./require-person.ts";

/** A passkey ceremony starts when the page is rendered and must end within this time. */
const ceremonyMs = 10 * 60_000;

/**
 * **`GET /account`**: address, password, passkeys, second factors, connected providers, applications with access, sessions. Cost: 2 object calls, 7
 * D1 calls; 1 more beside them with `TERMS_VERSION`.
 */
export function showAccount(at: PageRequest): Promise<Response> {
  return asPerson(at, (person) => renderAccount(at, person));
}

async function renderAccount(at: PageRequest, person: SignedInPerson): Promise<Response> {
  const { context, isolate, request } = at;
  const { user, session, sessionId } = person;
  const [{ record: password }, addresses, passkeys, factors, applications, sessions, identities, upstreams, agreement] =
    await Promise.all([
      findPassword(context.env.DB, user.username),
      listAddresses(context.env.DB, user.sub),
      listPasskeys(context.env.DB, user.sub),
      listFactors(context.env.DB, user.sub),
      listApplications(at, user.sub),
      listUserSessions(context.env.DB, user.sub, context.arrivedAtMs),
      listIdentities(context.env.DB, user.sub),
      isolate.upstreams.list(context),
      readDeployment(context.env).terms && findAgreement(context.env.DB, user.sub),
    ]);
  const allowed = applications.flatMap((each) => each.allowed);
  const found = await isolate.resources.findAll(context, allowedResources(allowed));
  const resources = [...found, adminResource(context.settings.issuer)];
  const ceremony = mayAddPasskey(at, person, factors)
    ? await isolate.challenges.put(context, "passkey-ceremony", user.sub, context.arrivedAtMs + ceremonyMs)
    : undefined;
  const frame = frameOf(context, request);
  const view: AccountView = {
    user,
    formToken: await formToken(context, accountForms, sessionId),
    hasPassword: password?.sub === user.sub && password.hash !== undefined,
    addresses,
    canChangeName: mayChangeName(context.settings),
    canChangeAddress: context.settings.mailProvider !== "off",
    passkeys,
    factors,
    identities,
    upstreams,
    registration:
      ceremony === undefined
        ? undefined
        : {
            ceremony,
            options: await passkeyRegistrationOptions(context, user, passkeys, ceremony),
            // A person who has removed a factor does not get another one without asking.
            isConditional: password?.factors.epoch === 0 && mayAddConditionally(at, person, factors),
          },
    signal: await personSignal(context, user, passkeys),
    applications: applications.map((each) => ({
      ...each,
      details: describeDetails(context.settings, frame.t, allowedDetails(each.allowed)),
    })),
    resources,
    sessions: sessions
      .map((each) => ({ ...each, isThis: each.sid === session.sid }))
      .toSorted((left, right) => Number(right.isThis) - Number(left.isThis)),
    notice: readNotice(new URL(request.url).searchParams.get("notice")),
    dates: personalDates(context, frame.t.language, user),
    agreement,
    canDelete: context.settings.deletionGraceDays > 0,
  };
  return respondPage(<AccountPage frame={frame} view={view} />, { formLeaves: upstreams.length > 0 });
}
