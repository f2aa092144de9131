/** **Texts that several pages of op-auth share**, by language, together with those of the layout. The texts of one page are beside it. */

import { type LayoutMessageKey, layoutMessages } from "@edge-op/pages/messages";
import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "signIn.title": "Sign in",
  throttled: "Too many attempts. Wait {wait}, then try again.",
  "flow.expiredText": "This page was open for too long. Nothing was lost: continue from here.",
  "error.cookies":
    "Your browser did not send the cookie that it was given. Allow cookies for this site, or return to the browser in which you began, and start again.",
  "flow.outdatedText": "This page is out of date. You may have signed in again in another tab. Nothing was changed.",
  "flow.continue": "Continue",
  "flow.continueTo": "Continue to {client}",
  "consent.as": "Signed in as {user}",
  "consent.notYou": "Not you? Use another account",
  "consent.policy": "Privacy policy",
  "consent.terms": "Terms of service",
  "scope.openid": "Know who you are",
  "scope.profile": "See your name, picture and profile",
  "scope.email": "See your email address",
  "scope.address": "See your postal address",
  "scope.phone": "See your phone number",
  "scope.roles": "See your roles",
  "scope.groups": "See your groups",
  "scope.permissions": "See your permissions",
  "scope.offline_access": "Keep this access while you are away",
  "scope.other": "Use “{scope}” on your behalf",
  "resource.use": "Use {resource} on your behalf",
  "resource.scope": "{resource}: {description}",
  "claim.other": "See your “{claim}”",
  "detail.type": "Use “{type}” on your behalf",
  "detail.locations": "At",
  "detail.actions": "Actions",
  "detail.datatypes": "Data",
  "detail.identifier": "For",
  "detail.privileges": "Privileges",
  "home.text": "{provider} signs you in to your applications.",
  "home.account": "Manage your account",
  "home.signIn": "Sign in to your account",
  "home.signOut": "Sign out",
  "redirect.title": "One moment",
  "redirect.submit": "Continue",
  "account.signedInAs": "Signed in as {user}",
  cancel: "Cancel",
} as const;

type OwnMessageKey = keyof typeof en;
export type MessageKey = OwnMessageKey | LayoutMessageKey;

const de: Readonly<Record<OwnMessageKey, string>> = {
  "signIn.title": "Anmelden",
  throttled: "Zu viele Versuche. Warten Sie {wait} und versuchen Sie es dann erneut.",
  "flow.expiredText": "Diese Seite war zu lange offen. Es ging nichts verloren: Machen Sie von hier aus weiter.",
  "error.cookies":
    "Ihr Browser hat das Cookie nicht gesendet, das er erhalten hat. Erlauben Sie Cookies für diese Seite oder kehren Sie zu dem Browser zurück, in dem Sie begonnen haben, und beginnen Sie neu.",
  "flow.outdatedText":
    "Diese Seite ist veraltet. Vielleicht haben Sie sich in einem anderen Tab neu angemeldet. Es wurde nichts geändert.",
  "flow.continue": "Weiter",
  "flow.continueTo": "Weiter zu {client}",
  "consent.as": "Angemeldet als {user}",
  "consent.notYou": "Nicht Sie? Anderes Konto verwenden",
  "consent.policy": "Datenschutzerklärung",
  "consent.terms": "Nutzungsbedingungen",
  "scope.openid": "Wissen, wer Sie sind",
  "scope.profile": "Ihren Namen, Ihr Bild und Ihr Profil sehen",
  "scope.email": "Ihre E-Mail-Adresse sehen",
  "scope.address": "Ihre Postanschrift sehen",
  "scope.phone": "Ihre Telefonnummer sehen",
  "scope.roles": "Ihre Rollen sehen",
  "scope.groups": "Ihre Gruppen sehen",
  "scope.permissions": "Ihre Berechtigungen sehen",
  "scope.offline_access": "Diesen Zugriff behalten, während Sie abwesend sind",
  "scope.other": "„{scope}“ in Ihrem Namen nutzen",
  "resource.use": "{resource} in Ihrem Namen nutzen",
  "resource.scope": "{resource}: {description}",
  "claim.other": "Ihre Angabe „{claim}“ sehen",
  "detail.type": "„{type}“ in Ihrem Namen nutzen",
  "detail.locations": "Bei",
  "detail.actions": "Aktionen",
  "detail.datatypes": "Daten",
  "detail.identifier": "Für",
  "detail.privileges": "Berechtigungen",
  "home.text": "{provider} meldet Sie bei Ihren Anwendungen an.",
  "home.account": "Konto verwalten",
  "home.signIn": "Bei Ihrem Konto anmelden",
  "home.signOut": "Abmelden",
  "redirect.title": "Einen Moment",
  "redirect.submit": "Weiter",
  "account.signedInAs": "Angemeldet als {user}",
  cancel: "Abbrechen",
};

export const messages: Catalog<MessageKey> = {
  en: { ...layoutMessages.en, ...en },
  de: { ...layoutMessages.de, ...de },
};
