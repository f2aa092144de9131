import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { exportPerson } from "@edge-op/shared/users/export-person";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import { Section } from "./account-parts.tsx";
import { refuseBelowLevel } from "./factor-level.ts";
import { asPersonPosting } from "./require-person.ts";

/**
 * **Downloads everything about a person**, soon after a sign-in at the level of the account: the same document that administrators export. The person
 * is told. Cost: 1 object call; 2 D1 calls after each other, tell-person.ts and export-person.ts.
 */
export function downloadData(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person) => {
    const refused = await refuseBelowLevel(at, person, "/account/data");
    if (refused !== undefined) return refused;
    const { context } = at;
    const { sub, claims } = person.user;
    const exported = { action: "account.exported", target: sub, actor: sub };
    await tellPerson(context, { sub, claims, kind: "data-downloaded", evidence: exported }, () =>
      queryDatabase(() => recordAdminEvent(context, exported).run()),
    );
    wakeAuditLog(context);
    return new Response(JSON.stringify(await exportPerson(context, sub), undefined, 2), {
      headers: {
        "Content-Type": "application/json",
        "Content-Disposition": 'attachment; filename="account.json"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
      },
    });
  });
}

/** **Links to the data of the account and to its deletion**, if the deployment lets people delete their accounts. */
export function DataSection({ t, canDelete }: { readonly t: AuthTranslator; readonly canDelete: boolean }) {
  return (
    <Section title={t("data.title")}>
      <p class="row wrap">
        <a class="button quiet slim" href="/account/data" id="data">
          {t("data.download")}
        </a>
        {canDelete && (
          <a class="button danger slim" href="/account/delete" id="delete">
            {t("data.remove")}
          </a>
        )}
      </p>
    </Section>
  );
}
