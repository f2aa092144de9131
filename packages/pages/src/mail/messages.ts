/** **Texts of mails.** */

import type { Catalog } from "../translator.ts";

const en = {
  "mail.passwordChanged": "Your password was changed",
  "mail.passwordSet": "An administrator has set a new password for you",
  "mail.passwordRemoved": "An administrator has removed your password",
  "mail.resetLink": "An administrator has sent a link for a new password",
  "mail.resetLinkText":
    "With this link you set a new password. It works once, for 24 hours. If your account has a second factor, you need it too.",
  "mail.resetLinkOpen": "Set a new password",
  "mail.passkeyAdded": "A passkey was added to your account",
  "mail.passkeyRemoved": "A passkey was removed from your account",
  "mail.appAdded": "An authenticator app was added to your account",
  "mail.appRemoved": "An authenticator app was removed from your account",
  "mail.codesMade": "New recovery codes were made for your account",
  "mail.codesRemoved": "The recovery codes of your account were removed",
  "mail.codeUsed": "A recovery code was used to sign in to your account",
  "mail.identityLinked": "A sign-in with another provider was connected with your account",
  "mail.identityUnlinked": "A sign-in with another provider was disconnected from your account",
  "mail.factorRemoved": "An administrator has removed a second factor or passkey from your account",
  "mail.accessEnded": "An administrator has signed you out everywhere",
  "mail.addressChanged": "The email address of your account was changed",
  "mail.addressAdded": "An email address was added to your account",
  "mail.addressRemoved": "An email address was removed from your account",
  "mail.addressChangedByAdministrator": "An administrator has changed the email address of your account",
  "mail.dataDownloaded": "Your data was downloaded",
  "mail.deletionAsked": "Your account is going to be deleted",
  "mail.deletionAskedText":
    "Somebody has asked to delete it, and you were signed out everywhere. In {days, plural, one {# day} other {# days}} it is permanently deleted. Do you want to keep it, or was this not you? Sign in before then, keep the account and change your password.",
  "mail.deletionNear": "Your account will be deleted in three days",
  "mail.deletionNearText": "It is then permanently deleted. If you want to keep it, sign in before then.",
  "mail.deletionDone": "Your account was deleted",
  "mail.deletionDoneText":
    "Your account at {name} was deleted as requested, with everything that was stored about you there. This is the last mail about it.",
  "mail.accountRestored": "Your account is not going to be deleted",
  "mail.newBrowser": "Your account was signed in to in a new browser",
  "mail.keepAccount": "Sign in to keep the account",
  "mail.undoText":
    "This was your address before. Was this not you? Undo the change within seven days. That also signs you out everywhere, and you can then set a new password.",
  "mail.takeBackText":
    "Was this not you? Undo it, and everything that was changed after it, within seven days. That also signs you out everywhere, and you then set a new password.",
  "mail.undo": "Undo the change",
  "mail.codeRecover": "Your code for a new password",
  "mail.codeRecoverText":
    "Somebody requested a new password for your account at {name}. If this was you, enter this code:",
  "mail.codeAddress": "Your code to confirm this email address",
  "mail.codeAddressText":
    "Somebody wants to use this email address for their account at {name}. If this was you, enter this code:",
  "mail.codeSignUp": "Your code for your new account",
  "mail.codeSignUpText":
    "Somebody wants to create an account at {name} with this email address. If this was you, enter this code:",
  "mail.codeSignIn": "Your code to sign in",
  "mail.codeSignInText":
    "Somebody signs in to your account at {name} in a browser in which you have not signed in before. If this is you, enter this code:",
  "mail.codeSignInNotYou":
    "If this is not you, somebody knows your password: change it. Nobody gets in without the code. Never tell it to anyone, also not by telephone.",
  "mail.accountExists": "You already have an account",
  "mail.accountExistsText":
    "Somebody wanted to create an account at {name} with this email address. You have one already. If this was you, enter this code to continue:",
  "mail.addressInUse": "Your email address was entered for another account",
  "mail.addressInUseText":
    "Somebody wanted to use this email address for an account at {name}. It belongs to another account there, so nothing was changed. If this was you, sign in to that account.",
  "mail.codeUse":
    "Enter it on the page on which you asked for it. It is valid for {minutes, plural, one {# minute} other {# minutes}}, and only the newest code counts.",
  "mail.codeNotYou":
    "If this was not you, you do not need to do anything: nobody gets in without the code. Never tell it to anyone, not even by telephone.",
  "mail.invitation": "You are invited to {name}",
  "mail.invitationText":
    "An administrator has invited you to create an account at {name}. The link is for you alone. It works once, for seven days from {at} (UTC).",
  "mail.invitationAccept": "Accept the invitation",
  "mail.invitationNotYou": "If you did not expect this, do nothing: without the link there is no account.",
  "mail.when": "This concerns your account at {name}. It happened on {at} (UTC).",
  "mail.byYou": "If this was you, you do not need to do anything.",
  "mail.notYou":
    "Was this not you? Sign in, change your password, remove passkeys that you do not know, and end all other sessions.",
  "mail.byAdministrator": "If you did not expect this, ask your administrator.",
  "mail.account": "Your account",
  "mail.cannotSignIn":
    "If you cannot sign in, contact the operator of this service. Nobody will ask you for your password or a code.",
} as const;

const de: Readonly<Record<keyof typeof en, string>> = {
  "mail.passwordChanged": "Ihr Passwort wurde geändert",
  "mail.passwordSet": "Ein Administrator hat ein neues Passwort für Sie festgelegt",
  "mail.passwordRemoved": "Ein Administrator hat Ihr Passwort entfernt",
  "mail.resetLink": "Ein Administrator hat einen Link für ein neues Passwort gesendet",
  "mail.resetLinkText":
    "Mit diesem Link legen Sie ein neues Passwort fest. Er gilt einmal, 24 Stunden lang. Wenn Ihr Konto einen zweiten Faktor hat, brauchen Sie auch ihn.",
  "mail.resetLinkOpen": "Neues Passwort festlegen",
  "mail.passkeyAdded": "Ihrem Konto wurde ein Passkey hinzugefügt",
  "mail.passkeyRemoved": "Aus Ihrem Konto wurde ein Passkey entfernt",
  "mail.appAdded": "Ihrem Konto wurde eine Authenticator-App hinzugefügt",
  "mail.appRemoved": "Aus Ihrem Konto wurde eine Authenticator-App entfernt",
  "mail.codesMade": "Für Ihr Konto wurden neue Wiederherstellungscodes erstellt",
  "mail.codesRemoved": "Die Wiederherstellungscodes Ihres Kontos wurden entfernt",
  "mail.codeUsed": "Mit einem Wiederherstellungscode hat sich jemand bei Ihrem Konto angemeldet",
  "mail.identityLinked": "Eine Anmeldung mit einem anderen Anbieter wurde mit Ihrem Konto verbunden",
  "mail.identityUnlinked": "Eine Anmeldung mit einem anderen Anbieter wurde von Ihrem Konto getrennt",
  "mail.factorRemoved": "Ein Administrator hat einen zweiten Faktor oder Passkey aus Ihrem Konto entfernt",
  "mail.accessEnded": "Ein Administrator hat Sie überall abgemeldet",
  "mail.addressChanged": "Die E-Mail-Adresse Ihres Kontos wurde geändert",
  "mail.addressAdded": "Ihrem Konto wurde eine E-Mail-Adresse hinzugefügt",
  "mail.addressRemoved": "Aus Ihrem Konto wurde eine E-Mail-Adresse entfernt",
  "mail.addressChangedByAdministrator": "Ein Administrator hat die E-Mail-Adresse Ihres Kontos geändert",
  "mail.dataDownloaded": "Ihre Daten wurden heruntergeladen",
  "mail.deletionAsked": "Ihr Konto wird gelöscht",
  "mail.deletionAskedText":
    "Jemand hat verlangt, es zu löschen, und Sie wurden überall abgemeldet. In {days, plural, one {# Tag} other {# Tagen}} wird es endgültig gelöscht. Möchten Sie es behalten, oder waren Sie das nicht? Melden Sie sich vorher an, behalten Sie das Konto und ändern Sie Ihr Passwort.",
  "mail.deletionNear": "Ihr Konto wird in drei Tagen gelöscht",
  "mail.deletionNearText": "Es wird dann endgültig gelöscht. Wenn Sie es behalten möchten, melden Sie sich vorher an.",
  "mail.deletionDone": "Ihr Konto wurde gelöscht",
  "mail.deletionDoneText":
    "Ihr Konto bei {name} wurde wie verlangt gelöscht, mit allem, was dort über Sie gespeichert war. Dies ist die letzte E-Mail dazu.",
  "mail.accountRestored": "Ihr Konto wird nicht gelöscht",
  "mail.newBrowser": "In einem neuen Browser hat sich jemand bei Ihrem Konto angemeldet",
  "mail.keepAccount": "Anmelden und das Konto behalten",
  "mail.undoText":
    "Dies war bisher Ihre Adresse. Waren Sie das nicht? Machen Sie die Änderung innerhalb von sieben Tagen rückgängig. Sie werden dabei überall abgemeldet und können danach ein neues Passwort festlegen.",
  "mail.takeBackText":
    "Waren Sie das nicht? Machen Sie es innerhalb von sieben Tagen rückgängig, mit allem, was danach geändert wurde. Sie werden damit auch überall abgemeldet und legen dann ein neues Passwort fest.",
  "mail.undo": "Änderung rückgängig machen",
  "mail.codeRecover": "Ihr Code für ein neues Passwort",
  "mail.codeRecoverText":
    "Jemand möchte ein neues Passwort für Ihr Konto bei {name} festlegen. Wenn Sie das sind, geben Sie diesen Code ein:",
  "mail.codeAddress": "Ihr Code, um diese E-Mail-Adresse zu bestätigen",
  "mail.codeAddressText":
    "Jemand möchte diese E-Mail-Adresse für ein Konto bei {name} verwenden. Wenn Sie das sind, geben Sie diesen Code ein:",
  "mail.codeSignUp": "Ihr Code für Ihr neues Konto",
  "mail.codeSignUpText":
    "Jemand möchte bei {name} ein Konto mit dieser E-Mail-Adresse anlegen. Wenn Sie das sind, geben Sie diesen Code ein:",
  "mail.codeSignIn": "Ihr Code für die Anmeldung",
  "mail.codeSignInText":
    "Jemand meldet sich bei Ihrem Konto bei {name} in einem Browser an, in dem Sie sich noch nicht angemeldet haben. Wenn Sie das sind, geben Sie diesen Code ein:",
  "mail.codeSignInNotYou":
    "Wenn Sie das nicht sind, kennt jemand Ihr Passwort: Ändern Sie es. Ohne den Code kommt niemand hinein. Nennen Sie ihn niemandem, auch nicht am Telefon.",
  "mail.accountExists": "Sie haben bereits ein Konto",
  "mail.accountExistsText":
    "Jemand wollte bei {name} ein Konto mit dieser E-Mail-Adresse anlegen. Sie haben dort bereits eines. Wenn Sie das waren, geben Sie diesen Code ein, um fortzufahren:",
  "mail.addressInUse": "Ihre E-Mail-Adresse wurde für ein anderes Konto angegeben",
  "mail.addressInUseText":
    "Jemand wollte diese E-Mail-Adresse für ein Konto bei {name} verwenden. Sie gehört dort zu einem anderen Konto, deshalb wurde nichts geändert. Wenn Sie das waren, melden Sie sich bei diesem Konto an.",
  "mail.codeUse":
    "Geben Sie ihn auf der Seite ein, auf der Sie ihn angefordert haben. Er gilt {minutes, plural, one {# Minute} other {# Minuten}} lang, und nur der neueste Code zählt.",
  "mail.codeNotYou":
    "Wenn Sie das nicht waren, müssen Sie nichts tun: Ohne den Code kommt niemand hinein. Nennen Sie ihn niemandem, auch nicht am Telefon.",
  "mail.invitation": "Sie sind zu {name} eingeladen",
  "mail.invitationText":
    "Ein Administrator hat Sie eingeladen, ein Konto bei {name} zu erstellen. Der Link ist nur für Sie. Er gilt einmal, sieben Tage lang ab {at} (UTC).",
  "mail.invitationAccept": "Einladung annehmen",
  "mail.invitationNotYou": "Wenn Sie das nicht erwartet haben, tun Sie nichts: Ohne den Link entsteht kein Konto.",
  "mail.when": "Es geht um Ihr Konto bei {name}. Zeitpunkt: {at} (UTC).",
  "mail.byYou": "Wenn Sie das waren, müssen Sie nichts tun.",
  "mail.notYou":
    "Waren Sie das nicht? Melden Sie sich an, ändern Sie Ihr Passwort, entfernen Sie unbekannte Passkeys und beenden Sie alle anderen Sitzungen.",
  "mail.byAdministrator": "Wenn Sie das nicht erwartet haben, fragen Sie Ihren Administrator.",
  "mail.account": "Ihr Konto",
  "mail.cannotSignIn":
    "Wenn Sie sich nicht anmelden können, wenden Sie sich an den Betreiber dieses Dienstes. Niemand wird Sie nach Ihrem Passwort oder einem Code fragen.",
};

export const mailMessages: Catalog<keyof typeof en> = { en, de };
