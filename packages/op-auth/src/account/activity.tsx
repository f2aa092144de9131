import { clientMark } from "@edge-op/pages/client-mark";
import { describePlace, personalDates } from "@edge-op/pages/describe-values";
import { respondPage } from "@edge-op/pages/respond-page";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { findEvents } from "@edge-op/shared/audit/find-events";
import {
  type EventPlace,
  formatPlace,
  parsePlace,
  placeOf,
  type ShownEvent,
  showEventTo,
} from "@edge-op/shared/audit/list-events";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { exportPerson } from "@edge-op/shared/users/export-person";
import type { Child } from "hono/jsx";
import { type PageRequest, personFrame } from "../pages/frame.ts";
import { type AuthKey, type AuthTranslator, authCatalog } from "../pages/messages.ts";
import { accountPages } from "./account-areas.ts";
import { AccountLayout } from "./account-layout.tsx";
import { takeNotice } from "./account-notices.ts";
import { Item, type ItemProps, List, Section } from "./account-parts.tsx";
import { refuseBelowLevel } from "./factor-level.ts";
import { asPerson, asPersonPosting } from "./require-person.ts";
import { findRecoveryNote } from "./stop-recovery.tsx";

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

type EventOf<Key> = Key extends `activity.${infer Type extends `${string}.${string}`}` ? Type : never;

/** **Types of audit events that the activity page shows**: those that have a text. */
export function isShownEvent(type: string): type is EventOf<AuthKey> {
  return type.includes(".") && Object.hasOwn(authCatalog.english, `activity.${type}`);
}

const path = accountPages.activity;
/** Events of one page. */
const shownAtOnce = 6;
/** Rows that are read for it: others, such as issued tokens, lie between those that are shown. */
const readAtOnce = 200;

/**
 * **`GET /account/activity`**: what happened with a person's account, newest first, from the audit log, and links to its data.
 * `before` is the place after which a page begins. Cost: 1 object call; 1 D1 call, and the clients that are not in memory.
 * Beyond the recent days, if older events are archived: 1 more D1 call, and 8 R2 calls at most.
 */
export function showActivity(at: PageRequest): Promise<Response> {
  return asPerson(at, async (person) => {
    const { user } = person;
    const { context, request } = at;
    const frame = await personFrame(at, user);
    const before = parsePlace(new URL(request.url).searchParams.get("before") ?? "");
    const [{ events, next }, recovery] = await Promise.all([
      readActivity(at, user.sub, before),
      findRecoveryNote(at, frame, person),
    ]);
    const { time } = personalDates(context, frame.t.language, user);
    const { t } = frame;
    const shown = await Promise.all(
      events.map(async ({ type, time: at, address, client_id: clientId, detail }) => ({
        title: isShownEvent(type) ? t(`activity.${type}`) : type,
        details: [
          <time datetime={at}>{time(Date.parse(at))}</time>,
          ...describeOrigin(t, detail),
          clientId && <bdi>{await nameOf(clientId)}</bdi>,
          address && t("activity.network", { network: address }),
        ],
      })),
    );
    const { notice, cookies } = takeNotice(at);
    const page = (
      <AccountLayout frame={frame} area="activity" user={user} notice={notice} recovery={recovery}>
        <ActivitySection t={t} events={shown} isFirst={before === undefined} next={next} />
        <DataSection t={t} canDelete={context.settings.deletionGraceDays > 0} />
      </AccountLayout>
    );
    return respondPage(page, { cookies });

    async function nameOf(clientId: string): Promise<string> {
      const client = await at.isolate.clients.find(context, clientId);
      return client === undefined ? clientId : clientMark(client).name;
    }
  });
}

const shownMethods = ["pwd", "hwk", "swk", "otp", "fed"] as const;

/** How, in which browser and where a sign-in took place. The previous release recorded neither browser nor place. */
function describeOrigin(t: AuthTranslator, { amr, device, city, country }: ShownEvent["detail"]): Child[] {
  const used = shownMethods.filter((method) => Array.isArray(amr) && amr.includes(method));
  const methods = used.map((method) => t(`activity.${method}`)).join(" + ");
  const place = { ...(typeof city === "string" && { city }), ...(typeof country === "string" && { country }) };
  return [methods, typeof device === "string" && <bdi>{device}</bdi>, describePlace(t.language, place)];
}

/** `next` is where the next page begins; absent at the end. */
async function readActivity({ context }: PageRequest, sub: string, before: EventPlace | undefined) {
  const { rows, next } = await findEvents(context.env, { sub, before }, readAtOnce);
  const known = rows.filter(({ type }) => isShownEvent(type));
  const shown = known.slice(0, shownAtOnce);
  const last = known.length > shownAtOnce ? placeOf(shown.at(-1)!) : next;
  return { events: shown.map((row) => showEventTo(sub, row)), next: last && formatPlace(last) };
}

function ActivitySection(props: {
  readonly t: AuthTranslator;
  readonly events: readonly ItemProps[];
  readonly isFirst: boolean;
  readonly next: string | undefined;
}) {
  const { t, events, isFirst, next } = props;
  return (
    <Section title={t("activity.title")} text={t("activity.text")}>
      <p class="small">
        {t("activity.unknown")} <a href="/account/password">{t("activity.changePassword")}</a>
        {" · "}
        <a href="/account/sessions/end-others" id="end-others">
          {t("activity.endOthers")}
        </a>
      </p>
      {events.length === 0 && <p class="muted small">{t("activity.none")}</p>}
      <List>
        {events.map(({ title, details }) => (
          <li>
            <Item title={title} details={details} />
          </li>
        ))}
      </List>
      {(!isFirst || next) && (
        <p class="links">
          {!isFirst && (
            <a href={path} id="newest">
              {t("activity.newest")}
            </a>
          )}
          {next && (
            <a href={`${path}?${new URLSearchParams({ before: next })}`} id="older">
              {t("activity.older")}
            </a>
          )}
        </p>
      )}
    </Section>
  );
}
