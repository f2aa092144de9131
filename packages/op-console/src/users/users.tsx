import { textLanguages } from "@edge-op/shared/config/text-languages";
import type { UserResource } from "../api/resources.ts";
import { auditOf, auditScope } from "../audit/audit-pages.tsx";
import { defineRecord } from "../records/define-record.tsx";
import { apiPath, type RecordSpec, recordChange, recordPath } from "../records/record.ts";
import { defineLists } from "../records/record-pages.tsx";
import { warnOfNames } from "../roles/warn-of-names.tsx";
import type { ConsoleKey } from "../serve/messages.ts";
import { Actions, Facts, Head, timeText } from "../serve/parts.tsx";
import { type ConsoleRoute, mayUse, type PageCall } from "../serve/route.ts";
import { userSections } from "./user-sections.tsx";

const path = "/console/users";
const languageOptions = Object.keys(textLanguages).map((tag) => [tag] as const);
const common = { scope: "admin:users" } as const;

const users: RecordSpec<UserResource> = {
  ...{ ...common, noun: "User", path, api: "/users", id: "sub", disabled: "suspended" },
  ...{ kind: "user.kind", plural: "users.title", create: "user.create" },
  ends: { create: "user.createEnds", edit: "user.editEnds", delete: "user.deleteEnds", disable: "user.suspendEnds" },
  verbs: { disable: "user.suspend", enable: "user.release" },
  conditions: {
    ...{
      search: "user.bySearch",
      username: "user.byUsername",
      email: "user.byEmail",
      name: "user.byName",
      sub: "user.bySub",
    },
    status: "user.byStatus",
    terms: "user.byTerms",
  },
  fields: [
    { name: "username", label: "user.username", kind: "text", isRequired: true },
    { name: "sub", label: "user.sub", help: "user.subHelp", kind: "text", only: "creation" },
    { name: "claims.name", label: "user.name", kind: "text" },
    { name: "claims.email", label: "user.email", kind: "text" },
    { name: "claims.email_verified", label: "user.emailVerified", kind: "check" },
    { name: "roles", label: "user.roles", kind: "lines" },
    { name: "groups", label: "user.groups", kind: "lines" },
    { name: "attributes", label: "user.attributes", help: "user.attributesHelp", kind: "json", only: "change" },
  ],
  warning: warnOfNames,
  nameOf: ({ username }) => username,
  detailOf: ({ claims, sub }) => [[claims.name, claims.email].filter(Boolean).join(" · "), sub],
  facts: ({ t }, { has_password: hasPassword, created_at: at, terms }) => [
    [t("user.password"), hasPassword],
    ...(terms === undefined
      ? []
      : ([[t("user.terms"), [terms.version, timeText(terms.accepted_at)].join(" · ")]] as const)),
    [t("user.created"), timeText(at)],
  ],
  actions: ({ t, session }, { sub }) => [
    ...(mayUse(session, auditScope)
      ? [
          { href: auditOf({ sub, type: "sign-in.*" }), text: t("user.signIns") },
          { href: auditOf({ sub }), text: t("user.events") },
        ]
      : []),
    { href: recordPath(path, sub, "/reset-link"), text: t("user.resetLink") },
    { href: recordPath(path, sub, "/temporary-password"), text: t("user.temporary"), isDangerous: true },
  ],
  alsoReads: [
    ...["listAuditEvents", "listSessions", "listFactors", "listIdentities"],
    ...["listMemberships", "listConsents", "listGrants"],
  ],
  sections: userSections,
};

interface Invitation {
  readonly invitation_id: string;
  readonly email: string;
  readonly name?: string;
  readonly invited_by: string;
  readonly expires_at: number;
}

const invitations: RecordSpec<Invitation> = {
  ...{ ...common, noun: "Invitation", path: "/console/invitations", api: "/invitations", id: "invitation_id" },
  ...{ kind: "invitation.kind", plural: "users.invitations", create: "invitation.create" },
  ends: { create: "invitation.createEnds", delete: "invitation.deleteEnds" },
  fields: [
    { name: "email", label: "user.email", kind: "text", isRequired: true },
    { name: "name", label: "user.name", kind: "text" },
    { name: "roles", label: "user.roles", kind: "lines" },
    { name: "groups", label: "user.groups", kind: "lines" },
    { name: "locale", label: "invitation.language", kind: "choice", options: languageOptions, only: "creation" },
  ],
  warning: warnOfNames,
  nameOf: ({ email }) => email,
  detailOf: ({ name, expires_at: at }) => [[name, timeText(at)].filter(Boolean).join(" · ")],
  facts: ({ t }, { invited_by: by, expires_at: at }) => [
    [t("invitation.by"), by],
    [t("invitation.ends"), timeText(at)],
  ],
  actions: ({ t }, { invitation_id: id }) => [
    { href: recordPath("/console/invitations", id, "/resend"), text: t("invitation.resend") },
  ],
};

/** A change that ends something of a user. */
function ending(
  title: ConsoleKey,
  ends: ConsoleKey,
  operation: string,
  below: string,
  apiBelow: (at: PageCall) => string,
): ConsoleRoute {
  return recordChange(users, {
    ...{ below, title, ends, operation, isBeside: true, isDangerous: true },
    request: (at) => ({ method: "DELETE", path: apiPath(users, at, apiBelow(at)) }),
  });
}

const endingOne = (name: "Session" | "Consent" | "Grant" | "Factor" | "Identity") => {
  const kind = name === "Identity" ? "identities" : `${name.toLowerCase()}s`;
  const verb = name === "Factor" || name === "Identity" ? (`remove${name}` as const) : (`end${name}` as const);
  const one = (at: PageCall) => `/${kind}/${encodeURIComponent(at.parameter("one"))}`;
  return ending(`user.${verb}`, `user.${verb}Ends`, verb, `/${kind}/:one/end`, one);
};

const endingAll = (name: "Sessions" | "Consents" | "Grants") =>
  ending(
    `user.end${name}`,
    `user.end${name}Ends`,
    `end${name}`,
    `/end-${name.toLowerCase()}`,
    () => `/${name.toLowerCase()}`,
  );

/** **How a person gets back in.** The temporary password is shown once. */
const passwordChanges: readonly ConsoleRoute[] = [
  recordChange(users, {
    ...{ below: "/reset-link", operation: "mailResetLink", isBeside: true },
    ...{ title: "user.resetLink", ends: "user.resetLinkEnds" },
    request: (at) => ({ method: "POST", path: apiPath(users, at, "/reset-link") }),
  }),
  recordChange(users, {
    ...{ below: "/temporary-password", operation: "setTemporaryPassword", isBeside: true, isDangerous: true },
    ...{ title: "user.temporary", ends: "user.temporaryEnds" },
    request: (at) => ({ method: "POST", path: apiPath(users, at, "/temporary-password") }),
    done({ t, parameter }, { body }) {
      const password = String(body["temporary_password"]);
      const children = (
        <>
          <Head title={t("user.temporaryOnce")} text={t("user.temporaryOnceText")} />
          <Facts t={t} facts={[[t("user.temporaryOnce"), password]]} />
          <Actions actions={[{ href: recordPath(path, parameter("id")), text: t("user.back") }]} />
        </>
      );
      return { title: t("user.temporaryOnce"), children };
    },
  }),
];

const resend = recordChange(invitations, {
  ...{ below: "/resend", operation: "resendInvitation", isBeside: true },
  ...{ title: "invitation.resend", ends: "invitation.resendEnds" },
  request: (at) => ({ method: "POST", path: apiPath(invitations, at, "/resend") }),
  done: (_, { body }) => recordPath(invitations.path, String(body["invitation_id"])),
});

export const userPages: readonly ConsoleRoute[] = [
  defineLists({ path, title: "users.title", records: [users, invitations] }),
  ...defineRecord(users),
  ...(["Session", "Consent", "Grant", "Factor", "Identity"] as const).map(endingOne),
  ...(["Sessions", "Consents", "Grants"] as const).map(endingAll),
  ...passwordChanges,
  ...defineRecord(invitations),
  resend,
];
