import { personalDates } from "@edge-op/pages/describe-values";
import { formToken } from "@edge-op/pages/form-token";
import { respondPage } from "@edge-op/pages/respond-page";
import { listAddresses } from "@edge-op/shared/users/user-addresses";
import { type PageRequest, personFrame } from "../pages/frame.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { findAgreement } from "../session/agreed-terms.ts";
import { AgreedTerms } from "../terms/terms-parts.tsx";
import { AccountLayout } from "./account-layout.tsx";
import { takeNotice } from "./account-notices.ts";
import { AddressSection } from "./address-section.tsx";
import { LanguageSection, mayChangeName, NameSection } from "./profile-sections.tsx";
import { accountForms, asPerson } from "./require-person.ts";
import { findRecoveryNote } from "./stop-recovery.tsx";

/**
 * **`GET /account`**: the person's name, addresses and language, and the terms that they have agreed to. Cost: 1 object call, 1 D1 call; 1 more
 * beside it with `TERMS_VERSION`.
 */
export function showYou(at: PageRequest): Promise<Response> {
  return asPerson(at, async (person) => {
    const { user, sessionId } = person;
    const { context } = at;
    const frame = await personFrame(at, user);
    const { t } = frame;
    const [addresses, agreement, recovery] = await Promise.all([
      listAddresses(context.env.DB, user.sub),
      readDeployment(context.env).terms && findAgreement(context.env.DB, user.sub),
      findRecoveryNote(at, frame, person),
    ]);
    const { notice, cookies } = takeNotice(at);
    const token = await formToken(context, accountForms, sessionId);
    const dates = personalDates(context, t.language, user);
    const canChangeAddress = context.settings.mailProvider !== "off";
    const page = (
      <AccountLayout frame={frame} area="you" user={user} notice={notice} recovery={recovery}>
        <NameSection t={t} user={user} formToken={token} canChange={mayChangeName(context.settings)} />
        <AddressSection t={t} view={{ user, addresses, canChangeAddress, dates }} />
        <LanguageSection frame={frame} user={user} formToken={token} />
        <AgreedTerms frame={frame} agreement={agreement} dates={dates} />
      </AccountLayout>
    );
    return respondPage(page, { cookies });
  });
}
