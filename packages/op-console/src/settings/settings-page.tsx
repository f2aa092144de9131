import type { DeploymentReport } from "../api/resources.ts";
import { definePage } from "../serve/define-page.tsx";
import { Head, Section } from "../serve/parts.tsx";
import type { ConsoleRoute } from "../serve/route.ts";

/** **The settings as they run**, to be read: secrets are no settings, and are not shown by the admin API. */
export const settingsPages: readonly ConsoleRoute[] = [
  definePage({
    path: "/console/settings",
    scope: "admin:shards",
    operations: ["reportDeployment"],
    async show({ api, t }) {
      const { settings } = await api.get<DeploymentReport>("/deployment");
      const entries = Object.entries(settings).toSorted(([one], [other]) => one.localeCompare(other));
      const set = entries.filter(([, value]) => value !== null);
      const unset = entries.filter(([, value]) => value === null).map(([name]) => name);
      const children = (
        <>
          <Head title={t("settings.title")} text={t("settings.text")} />
          <Section title={t("settings.set")}>
            <dl>
              {set.map(([name, value]) => (
                <>
                  <dt>
                    <strong>{name}</strong>
                  </dt>
                  <dd>{value}</dd>
                </>
              ))}
            </dl>
          </Section>
          <Section title={t("settings.default")}>
            <pre class="secret">{unset.join("\n")}</pre>
          </Section>
        </>
      );
      return { title: t("settings.title"), children };
    },
  }),
];
