import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "users.title": "Users",
  "user.kind": "User",
  "user.byUsername": "Username",
  "user.byEmail": "E-mail address",
  "user.byName": "Name",
  "user.bySub": "Subject (sub)",
  "user.byStatus": "Status: active or suspended",
  "user.username": "Username",
  "user.sub": "Subject (sub)",
  "user.name": "Name",
  "user.email": "E-mail address",
  "user.roles": "Roles",
  "user.groups": "Groups",
  "user.password": "Has a password",
  "user.created": "Created",
  "user.editEnds":
    "New tokens contain the roles and groups at once. Whoever loses a permission of the admin API can no longer use it.",
  "user.signIns": "Sign-ins and failures",
  "user.events": "All events",
  "user.suspend": "Suspend",
  "user.suspendEnds":
    "Every session, token and grant of the user ends at once, everywhere, and nobody can sign in to the account. It may be released again; what has ended stays ended.",
  "user.release": "Release",
  "user.sessions": "Sessions",
  "user.sessionSince": "signed in {time}",
  "user.sessionUntil": "ends {time} at the latest",
  "user.endSession": "End the session",
  "user.endSessionEnds":
    "The browser is signed out, the grants of its applications end, and those with back-channel logout are notified. Offline access stays.",
  "user.endSessions": "End all sessions",
  "user.endSessionsEnds":
    "Every browser is signed out, up to 200 per change, and the grants of their applications end. Offline access stays.",
  "user.factors": "Second factors and passkeys",
  "user.factorCreated": "added {time}",
  "user.factorUsed": "last used {time}",
  "user.factorCodes": "{count, plural, one {# code} other {# codes}} left",
  "user.removeFactor": "Remove the factor",
  "user.removeFactorEnds":
    "The user can no longer sign in with it. Every session and grant of the user ends, and the user is notified by mail.",
  "user.consents": "Consents",
  "user.endConsent": "Withdraw the consent",
  "user.endConsentEnds": "All grants of the application for this user end, also in sessions, and it has to ask again.",
  "user.endConsents": "Withdraw all consents",
  "user.endConsentsEnds":
    "Up to 20 per change: all grants of the applications for this user end, and each has to ask again.",
  "user.grants": "Grants with offline access",
  "user.grantEnds": "ends {time}",
  "user.endGrant": "End the grant",
  "user.endGrantEnds": "Its refresh token and all of its access tokens are refused. The consent stays.",
  "user.endGrants": "End all grants",
  "user.endGrantsEnds": "Up to 200 per change: their refresh and access tokens are refused. Consents stay.",
  "users.invitations": "Open invitations",
  "user.create": "Create a user",
  "user.createEnds":
    "Nothing ends. The user has no password yet: give one by the user’s page, or invite the person instead.",
  "user.subHelp": "Chosen by the provider if it is empty. It cannot be changed.",
  "user.deleteEnds":
    "Every session, token, grant and consent of the user ends, and the account is gone. Nobody gets its subject again.",
  "user.emailVerified": "The address is verified",
  "user.attributes": "Attributes",
  "user.attributesHelp": "Values of declared attributes, as JSON by their names.",
  "user.identities": "Upstream providers",
  "user.removeIdentity": "Disconnect",
  "user.removeIdentityEnds":
    "The user can no longer sign in with it; it may be the last way in. Every session and grant of the user ends, and the user is notified by mail.",
  "user.resetLink": "Mail a reset link",
  "user.resetLinkEnds":
    "A link to set a new password is mailed to the verified address. It works for 24 hours. Nothing ends before the new password is set.",
  "user.temporary": "Give a temporary password",
  "user.temporaryEnds":
    "The password is replaced by a generated one, which works for 24 hours and only leads to another one. Every session and grant of the user ends. Second factors stay.",
  "user.temporaryOnce": "The temporary password",
  "user.temporaryOnceText": "It is shown once. Give it to the person now.",
  "user.back": "To the user",
  "invitation.kind": "Invitation",
  "invitation.create": "Invite somebody",
  "invitation.createEnds":
    "Nothing ends. A link is mailed with which the person creates an account within seven days. It has these roles and groups.",
  "invitation.deleteEnds": "The link of the mail does not work any more.",
  "invitation.resend": "Mail it again",
  "invitation.resendEnds":
    "A new link is mailed, for seven more days. The link of the first mail does not work any more.",
  "invitation.language": "Language of the mail",
  "invitation.by": "Invited by",
  "invitation.ends": "Ends",
} as const;

export type UserKey = keyof typeof en;

const de: Readonly<Record<UserKey, string>> = {
  "users.title": "Personen",
  "user.kind": "Person",
  "user.byUsername": "Benutzername",
  "user.byEmail": "E-Mail-Adresse",
  "user.byName": "Name",
  "user.bySub": "Subject (sub)",
  "user.byStatus": "Status: active oder suspended",
  "user.username": "Benutzername",
  "user.sub": "Subject (sub)",
  "user.name": "Name",
  "user.email": "E-Mail-Adresse",
  "user.roles": "Rollen",
  "user.groups": "Gruppen",
  "user.password": "Hat ein Passwort",
  "user.created": "Angelegt",
  "user.editEnds":
    "Neue Tokens enthalten die Rollen und Gruppen sofort. Wer eine Berechtigung der Admin-API verliert, kann sie nicht mehr nutzen.",
  "user.signIns": "Anmeldungen und Fehlversuche",
  "user.events": "Alle Ereignisse",
  "user.suspend": "Sperren",
  "user.suspendEnds":
    "Alle Sitzungen, Tokens und Berechtigungen der Person enden sofort und überall, und niemand kann sich bei dem Konto anmelden. Es kann wieder freigegeben werden; was beendet ist, bleibt beendet.",
  "user.release": "Freigeben",
  "user.sessions": "Sitzungen",
  "user.sessionSince": "angemeldet {time}",
  "user.sessionUntil": "endet spätestens {time}",
  "user.endSession": "Sitzung beenden",
  "user.endSessionEnds":
    "Der Browser wird abgemeldet, die Berechtigungen seiner Anwendungen enden, und solche mit Back-Channel-Logout erfahren es. Offline-Zugriff bleibt.",
  "user.endSessions": "Alle Sitzungen beenden",
  "user.endSessionsEnds":
    "Jeder Browser wird abgemeldet, bis zu 200 durch eine Änderung, und die Berechtigungen ihrer Anwendungen enden. Offline-Zugriff bleibt.",
  "user.factors": "Zweite Faktoren und Passkeys",
  "user.factorCreated": "hinzugefügt {time}",
  "user.factorUsed": "zuletzt benutzt {time}",
  "user.factorCodes": "noch {count, plural, one {# Code} other {# Codes}}",
  "user.removeFactor": "Faktor entfernen",
  "user.removeFactorEnds":
    "Die Person kann sich damit nicht mehr anmelden. Alle ihre Sitzungen und Berechtigungen enden, und sie erfährt es per E-Mail.",
  "user.consents": "Zustimmungen",
  "user.endConsent": "Zustimmung zurückziehen",
  "user.endConsentEnds":
    "Alle Berechtigungen der Anwendung für diese Person enden, auch in Sitzungen, und sie muss erneut fragen.",
  "user.endConsents": "Alle Zustimmungen zurückziehen",
  "user.endConsentsEnds":
    "Bis zu 20 durch eine Änderung: Alle Berechtigungen der Anwendungen für diese Person enden, und jede muss erneut fragen.",
  "user.grants": "Berechtigungen mit Offline-Zugriff",
  "user.grantEnds": "endet {time}",
  "user.endGrant": "Berechtigung beenden",
  "user.endGrantEnds": "Ihr Refresh-Token und alle ihre Access-Tokens werden abgelehnt. Die Zustimmung bleibt.",
  "user.endGrants": "Alle Berechtigungen beenden",
  "user.endGrantsEnds":
    "Bis zu 200 durch eine Änderung: Ihre Refresh- und Access-Tokens werden abgelehnt. Zustimmungen bleiben.",
  "users.invitations": "Offene Einladungen",
  "user.create": "Person anlegen",
  "user.createEnds":
    "Es endet nichts. Die Person hat noch kein Passwort: Geben Sie ihr auf ihrer Seite eines, oder laden Sie sie stattdessen ein.",
  "user.subHelp": "Ist das Feld leer, wählt der Anbieter es. Es kann nicht geändert werden.",
  "user.deleteEnds":
    "Alle Sitzungen, Tokens, Berechtigungen und Zustimmungen der Person enden, und das Konto ist weg. Niemand bekommt ihr Subject wieder.",
  "user.emailVerified": "Die Adresse ist bestätigt",
  "user.attributes": "Attribute",
  "user.attributesHelp": "Werte von angelegten Attributen, als JSON nach ihren Namen.",
  "user.identities": "Vorgelagerte Anbieter",
  "user.removeIdentity": "Trennen",
  "user.removeIdentityEnds":
    "Die Person kann sich damit nicht mehr anmelden; es kann ihr letzter Weg sein. Alle ihre Sitzungen und Berechtigungen enden, und sie erfährt es per E-Mail.",
  "user.resetLink": "Link für ein Passwort senden",
  "user.resetLinkEnds":
    "An die bestätigte Adresse geht ein Link, um ein neues Passwort zu wählen. Er gilt 24 Stunden. Bis dahin endet nichts.",
  "user.temporary": "Vorläufiges Passwort geben",
  "user.temporaryEnds":
    "Das Passwort wird durch ein erzeugtes ersetzt, das 24 Stunden gilt und nur zu einem anderen führt. Alle Sitzungen und Berechtigungen der Person enden. Zweite Faktoren bleiben.",
  "user.temporaryOnce": "Das vorläufige Passwort",
  "user.temporaryOnceText": "Es wird einmal gezeigt. Geben Sie es jetzt der Person.",
  "user.back": "Zur Person",
  "invitation.kind": "Einladung",
  "invitation.create": "Jemanden einladen",
  "invitation.createEnds":
    "Es endet nichts. Per E-Mail geht ein Link hinaus, mit dem die Person innerhalb von sieben Tagen ein Konto anlegt. Es hat diese Rollen und Gruppen.",
  "invitation.deleteEnds": "Der Link der E-Mail gilt nicht mehr.",
  "invitation.resend": "Erneut senden",
  "invitation.resendEnds":
    "Ein neuer Link geht hinaus, für sieben weitere Tage. Der Link der ersten E-Mail gilt nicht mehr.",
  "invitation.language": "Sprache der E-Mail",
  "invitation.by": "Eingeladen von",
  "invitation.ends": "Endet",
};

export const userMessages: Catalog<UserKey> = { en, de };
