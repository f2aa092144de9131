import { Layout, type PageFrame } from "@edge-op/pages/layout";
import type { Translator } from "@edge-op/pages/translator";
import type { Child } from "hono/jsx";
import type { ConsoleSession } from "../session/session.ts";
import type { ConsoleKey } from "./messages.ts";
import { type ConsoleRoute, mayUse, memberPath, signOutOf } from "./route.ts";

interface Link {
  readonly href: string;
  readonly text: ConsoleKey;
  readonly scope?: ConsoleRoute["scope"];
  /** Pages of other records that it leads to. */
  readonly also?: readonly string[];
}

const links: readonly Link[] = [
  { href: "/console", text: "nav.overview" },
  { href: "/console/start", text: "nav.start", scope: "admin:clients" },
  { href: "/console/clients", text: "nav.clients", scope: "admin:clients", also: ["/console/document-hosts"] },
  { href: "/console/users", text: "nav.users", scope: "admin:users", also: ["/console/invitations"] },
  {
    ...{ href: "/console/roles", text: "nav.roles", scope: "admin:users" },
    also: ["/console/groups", "/console/attributes"],
  },
  {
    ...{ href: "/console/organizations", text: "nav.organizations", scope: "admin:users" },
    also: ["/console/organization-roles"],
  },
  { href: "/console/resources", text: "nav.resources", scope: "admin:clients" },
  { href: "/console/issuers", text: "nav.issuers", scope: "admin:issuers", also: ["/console/upstreams"] },
  { href: "/console/keys", text: "nav.keys", scope: "admin:keys" },
  { href: "/console/shards", text: "nav.shards", scope: "admin:shards", also: ["/console/held-records"] },
  { href: "/console/audit", text: "nav.audit", scope: "admin:audit" },
  { href: "/console/refusals", text: "nav.refusals", scope: "admin:audit" },
  { href: "/console/settings", text: "nav.settings", scope: "admin:shards" },
  { href: "/console/branding", text: "nav.branding", scope: "admin:clients" },
];

/** The pages of an organisation's own administrators; each is below the organisation. */
const memberLinks: readonly Link[] = [
  { href: "", text: "nav.overview" },
  { href: "/members", text: "nav.members", scope: "org:members" },
  { href: "/domains", text: "own.domains", scope: "org:connection" },
  { href: "/directory", text: "own.directory", scope: "org:scim" },
  { href: "/settings", text: "nav.settings", scope: "org:settings" },
];

function linksOf({ orgId }: ConsoleSession): readonly Link[] {
  if (orgId === undefined) return links;
  return memberLinks.map((link) => ({ ...link, href: memberPath(orgId, link.href) }));
}

interface Props {
  readonly frame: PageFrame & { readonly t: Translator<ConsoleKey> };
  readonly session: ConsoleSession;
  readonly signOutToken: string;
  /** The page's own path. */
  readonly path: string;
  readonly title: string;
  readonly children?: Child;
}

/** **The layout of the console**: the pages that the person's scopes allow, above the one that is open. */
export function ConsolePage({ frame, session, signOutToken, path, title, children }: Props) {
  const { t } = frame;
  const [home, ...others] = linksOf(session);
  const allowed = others.filter(({ scope }) => mayUse(session, scope));
  const isCurrent = ({ href, also = [] }: Link) =>
    path === href || (href !== home?.href && [href, ...also].some((each) => path.startsWith(`${each}/`)));
  const nav = (
    <nav class="sections" aria-label={t("nav.label")}>
      {[...(home ? [home] : []), ...allowed].map((link) => (
        <a href={link.href} aria-current={isCurrent(link) ? "page" : undefined}>
          {t(link.text)}
        </a>
      ))}
    </nav>
  );
  return (
    <Layout {...frame} title={title} nav={nav} wide="full">
      {children}
      <form method="post" action={signOutOf(session)} class="links">
        <span class="muted small">{t("console.as", { name: session.name })}</span>
        <input type="hidden" name="token" value={signOutToken} />
        <button type="submit" class="link" id="sign-out">
          {t("console.signOut")}
        </button>
      </form>
    </Layout>
  );
}
