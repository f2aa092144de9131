import { describePlace, type PersonalDates, personalDates } from "@edge-op/pages/describe-values";
import { respondPage } from "@edge-op/pages/respond-page";
import type { Resource } from "@edge-op/shared/resources/resource";
import { listUserSessions, type UserSession } from "@edge-op/shared/sessions/user-sessions";
import { adminResource, allowedResources, describeAllowance, sortAllowances } from "../consent/allowances.ts";
import { type DescribedDetail, describeDetails } from "../consent/describe-details.ts";
import { allowedDetails } from "../consent/requested-access.ts";
import { type PageRequest, personFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import { AccountLayout } from "./account-layout.tsx";
import { takeNotice } from "./account-notices.ts";
import { Item, List, RemoveLink, Section } from "./account-parts.tsx";
import { type Application, listApplications } from "./applications.ts";
import { asPerson } from "./require-person.ts";
import { findRecoveryNote } from "./stop-recovery.tsx";

/** An application with what a page shows of it. */
export interface DescribedApplication extends Application {
  /** Its authorization details. */
  readonly details: readonly DescribedDetail[];
}

interface Props {
  readonly t: AuthTranslator;
  readonly applications: readonly DescribedApplication[];
  /** The resources that they may use. */
  readonly resources: readonly Resource[];
  readonly date: (atMs: number) => string;
}

/** **The applications on the account page**: since when they have access, and what they may, in the words of the consent page. */
export function ApplicationsSection({ t, applications, resources, date }: Props) {
  return (
    <Section title={t("account.apps")}>
      {applications.length === 0 && <p class="muted small">{t("account.noApps")}</p>}
      <List>
        {applications.map((application) => (
          <li>
            <div>
              <Item title={application.name} details={describeOrigin(t, application, date)} />
              <p class="small">{describeAllowed(t, application, resources)}</p>
              {application.details.map(({ title, members }) => (
                <p class="detail small">
                  {[title, ...members.map(({ label, value }) => `${label}: ${value}`)].join(" · ")}
                </p>
              ))}
            </div>
            <Actions t={t} application={application} />
          </li>
        ))}
      </List>
    </Section>
  );
}

function describeOrigin(
  t: AuthTranslator,
  { clientIds, source, sinceMs }: Application,
  date: (atMs: number) => string,
): readonly (string | undefined)[] {
  const count = String(clientIds.length);
  const registered =
    clientIds.length === 1 ? t("applications.selfRegistered") : t("applications.selfRegisteredTimes", { count });
  return [
    source && (source.host === undefined ? registered : t("applications.fromHost", { host: source.host })),
    sinceMs === undefined ? undefined : t("applications.since", { date: date(sinceMs) }),
  ];
}

function describeAllowed(t: Props["t"], { allowed }: Application, resources: readonly Resource[]): string {
  const simple = allowed.filter((item) => !item.startsWith("detail:"));
  return [...new Set(sortAllowances(simple).map((item) => describeAllowance(t, item, resources)))].join(" · ");
}

function Actions({ t, application }: Pick<Props, "t"> & { readonly application: Application }) {
  const { clientIds, name, start } = application;
  const [clientId = ""] = clientIds;
  return (
    <span class="row">
      {start && (
        <a class="button quiet slim" href={start} aria-label={`${t("account.start")}: ${name}`} data-start={clientId}>
          {t("account.start")}
        </a>
      )}
      <RemoveLink path="/account/consents/remove" name="client_id" value={clientId} subject={name}>
        {t("account.revoke")}
      </RemoveLink>
    </span>
  );
}

/** **`GET /account/applications`**: applications with access, and sessions, that of this browser first. Cost: 1 object call, 2 D1 calls. */
export function showApplications(at: PageRequest): Promise<Response> {
  return asPerson(at, async (person) => {
    const { user, session } = person;
    const { context, isolate } = at;
    const [applications, sessions] = await Promise.all([
      listApplications(at, user.sub),
      listUserSessions(context.env.DB, user.sub, context.arrivedAtMs),
    ]);
    const found = await isolate.resources.findAll(
      context,
      allowedResources(applications.flatMap((each) => each.allowed)),
    );
    const frame = await personFrame(at, user);
    const { t } = frame;
    const recovery = await findRecoveryNote(at, frame, person);
    const { notice, cookies } = takeNotice(at);
    const dates = personalDates(context, t.language, user);
    const described = applications.map((each) => ({
      ...each,
      details: describeDetails(context.settings, frame.t, allowedDetails(each.allowed)),
    }));
    const page = (
      <AccountLayout frame={frame} area="applications" user={user} notice={notice} recovery={recovery}>
        <ApplicationsSection
          t={t}
          applications={described}
          resources={[...found, adminResource(context.settings.issuer, t)]}
          date={dates.date}
        />
        <SessionsSection t={t} sessions={sessions} own={session.sid} dates={dates} />
      </AccountLayout>
    );
    return respondPage(page, { cookies });
  });
}

function SessionsSection(props: {
  readonly t: AuthTranslator;
  readonly sessions: readonly UserSession[];
  /** The `sid` of this browser's. */
  readonly own: string;
  readonly dates: PersonalDates;
}) {
  const { t, sessions, own, dates } = props;
  const others = sessions.filter(({ sid }) => sid !== own);
  const endOthers = (
    <a class="button quiet slim" href="/account/sessions/end-others" id="end-others">
      {t("account.endOthers")}
    </a>
  );
  return (
    <Section
      id="sessions"
      title={t("account.sessions")}
      text={t("account.sessionsText")}
      action={others.length > 0 ? endOthers : undefined}
    >
      <List>
        {[...sessions.filter(({ sid }) => sid === own), ...others].map((session) => {
          const { sid, device, signedInAtMs } = session;
          const details = [
            sid === own && <strong class="this">{t("account.thisDevice")}</strong>,
            describePlace(t.language, session),
            t("account.signedInAt", { date: dates.time(signedInAtMs) }),
          ];
          return (
            <li>
              <Item title={device} details={details} />
              <RemoveLink path="/account/sessions/end" name="sid" value={sid} subject={device}>
                {t("account.endSession")}
              </RemoveLink>
            </li>
          );
        })}
      </List>
    </Section>
  );
}
