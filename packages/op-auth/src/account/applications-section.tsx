import type { Resource } from "@edge-op/shared/resources/resource";
import { describeAllowance, sortAllowances } from "../consent/allowances.ts";
import type { DescribedDetail } from "../consent/describe-details.ts";
import type { AuthTranslator } from "../pages/messages.ts";
import { Item, List, RemoveLink, Section } from "./account-parts.tsx";
import type { Application } from "./applications.ts";

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
