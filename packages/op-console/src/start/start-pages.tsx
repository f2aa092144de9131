import { OAuthError } from "@edge-op/protocol/oauth/errors";
import frameworks from "../../data/frameworks.json" with { type: "json" };
import { recordPath } from "../records/record.ts";
import { defineChange } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import type { Values } from "../serve/fields.tsx";
import { Actions, Facts, Head, List, Section } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";

const startPath = "/console/start";
const scope = "admin:clients";

/** The values of docs/clients.md that an application replaces. */
const documented = { issuer: "https://op.example.com", origin: "https://app.example.com" };

interface Framework {
  readonly name: string;
  readonly registration: Readonly<Record<string, unknown>>;
  readonly files: Readonly<Record<string, string>>;
}

const all: readonly Framework[] = frameworks;

/** Names of libraries that do not contain the one of the framework that people look for. */
const frameworkOfLibrary: Readonly<Record<string, string>> = {
  "@hono/oidc-auth": "Hono",
  "Auth.js": "Express",
  "django-allauth": "Django",
  "express-openid-connect": "Express",
  "go-oidc": "Go",
  mod_auth_openidc: "Apache",
  "mozilla-django-oidc": "Django",
  NextAuth: "Next.js",
  "oidc-client-ts": "React and other applications in a browser",
  "passport-openidconnect": "Express",
};

function titleOf({ name }: Framework): string {
  const framework = frameworkOfLibrary[name];
  return framework === undefined ? name : `${framework}: ${name}`;
}

function byTitle(left: Framework, right: Framework): number {
  return titleOf(left).localeCompare(titleOf(right), "en");
}

function slugOf({ name }: Framework): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

function frameworkOf({ parameter }: Pick<PageCall, "parameter">): Framework {
  const found = all.find((each) => slugOf(each) === parameter("framework"));
  if (found === undefined) throw new OAuthError("not_found", "page-unknown");
  return found;
}

const list = definePage({
  path: startPath,
  scope,
  operations: [],
  async show({ t }) {
    const children = (
      <>
        <Head title={t("start.title")} text={t("start.text")} />
        <List
          t={t}
          items={[...all].sort(byTitle).map((each) => ({
            name: titleOf(each),
            actions: [{ href: `${startPath}/${slugOf(each)}`, text: t("list.choose") }],
          }))}
        />
      </>
    );
    return { title: t("start.title"), children };
  },
});

/** The origin without a trailing slash, as the paths of the documented values continue it. */
function originOf(values: Values): string {
  return (values["origin"] ?? "").replace(/\/+$/, "");
}

/** **A client for a framework, and the framework's code with the client's values**: the code that the tests of docs/clients.md execute. */
const connect = defineChange({
  path: `${startPath}/:framework`,
  scope,
  operations: ["createClient"],
  title: "start.connect",
  ends: "start.ends",
  fields: [
    { name: "name", label: "start.name", kind: "text", isRequired: true },
    { name: "origin", label: "start.origin", help: "start.originHelp", kind: "text", isRequired: true },
  ],
  find: async (at) => ({ name: titleOf(frameworkOf(at)) }),
  request(at, values) {
    const text = JSON.stringify(frameworkOf(at).registration);
    const registration = JSON.parse(text, (_, value: unknown) =>
      typeof value === "string" ? value.replaceAll(documented.origin, originOf(values)) : value,
    ) as Record<string, unknown>;
    return { method: "POST", path: "/clients", body: { ...registration, client_name: values["name"] } };
  },
  done(at, { body }, values) {
    const { t, context } = at;
    const { name, files } = frameworkOf(at);
    const clientId = String(body["client_id"]);
    const secret = body["client_secret"] === undefined ? undefined : String(body["client_secret"]);
    const own = new Map([
      [documented.issuer, context.settings.issuer],
      [documented.origin, originOf(values)],
      ["CLIENT_ID", clientId],
      ["CLIENT_SECRET", secret ?? ""],
      ["RANDOM_SECRET", crypto.randomUUID().replaceAll("-", "")],
    ]);
    const withValues = (text: string) =>
      text.replaceAll(
        /https:\/\/(?:op|app)\.example\.com|\b(?:CLIENT_ID|CLIENT_SECRET|RANDOM_SECRET)\b/g,
        (word) => own.get(word) ?? word,
      );
    const children = (
      <>
        <Head title={t("start.doneTitle")} text={t("start.doneText")} />
        <Facts
          t={t}
          facts={[
            [t("start.id"), clientId],
            [t("start.secret"), secret],
          ]}
        />
        {Object.entries(files).map(([file, text]) => (
          <Section title={`${name}: ${file}`} isData>
            <pre class="secret">{withValues(text)}</pre>
          </Section>
        ))}
        <Actions actions={[{ href: recordPath("/console/clients", clientId), text: t("start.client") }]} />
      </>
    );
    return { title: t("start.doneTitle"), children };
  },
  back: () => startPath,
});

export const startPages: readonly ConsoleRoute[] = [list, connect];
