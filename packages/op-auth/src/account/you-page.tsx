import { personalDates } from "@edge-op/pages/describe-values";
import { formToken } from "@edge-op/pages/form-token";
import { respondPage } from "@edge-op/pages/respond-page";
import { listAddresses } from "@edge-op/shared/users/user-addresses";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { findAgreement } from "../session/agreed-terms.ts";
import { AgreedTerms } from "../terms/terms-parts.tsx";
import { AccountLayout } from "./account-layout.tsx";
import { takeNotice } from "./account-notices.ts";
import { AddressSection } from "./address-section.tsx";
import { mayChangeName, NameSection } from "./name-section.tsx";
import { accountForms, asPerson } from "./require-person.ts";
import { findRecoveryNote } from "./stop-recovery.tsx";

/**
 * **`GET /account`**: the person's name and addresses, and the terms that they have agreed to. Cost: 1 object call, 1 D1 call; 1 more beside it with
 * `TERMS_VERSION`.
 */
export function showYou(at: PageRequest): Promise<Response> {
  return asPerson(at, async (person) => {
    const { user, sessionId } = person;
    const { context, request } = at;
    const frame = await frameOf(context, request);
    const { t } = frame;
    const [addresses, agreement, recovery] = await Promise.all([
      listAddresses(context.env.DB, user.sub),
      readDeployment(context.env).terms && findAgreement(context.env.DB, user.sub),
      findRecoveryNote(at, frame, person),
    ]);
    const { notice, cookies } = takeNotice(at);
    const dates = personalDates(context, t.language, user);
    const canChangeAddress = context.settings.mailProvider !== "off";
    const page = (
      <AccountLayout frame={frame} area="you" user={user} notice={notice} recovery={recovery}>
        <NameSection
          t={t}
          user={user}
          formToken={await formToken(context, accountForms, sessionId)}
          canChange={mayChangeName(context.settings)}
        />
        <AddressSection t={t} view={{ user, addresses, canChangeAddress, dates }} />
        <AgreedTerms frame={frame} agreement={agreement} dates={dates} />
      </AccountLayout>
    );
    return respondPage(page, { cookies });
  });
}
