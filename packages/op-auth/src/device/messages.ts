import type { Catalog } from "@edge-op/pages/translator";
import { type MessageKey, messages } from "../pages/messages.ts";

const en = {
  "device.title": "Connect a device",
  "device.text": "Enter the code that your device shows.",
  "device.code": "Code",
  "device.continue": "Continue",
  "device.invalid":
    "No device is waiting with this code. It may have expired: check the code that your device shows now.",
  "device.confirm": "Is this the code on your device?",
  "device.warning":
    "Continue only if you started this yourself and your device shows exactly this code. If somebody sent you the code or a link, deny the request.",
  "device.from": "Requested from {place}, {ago}",
  "device.ago": "Requested {ago}",
  "device.asks": "On this device, {client} would like to:",
  "device.allow": "The code matches, allow",
  "device.deny": "Deny",
  "device.allowedTitle": "Your device is connected",
  "device.allowedText": "It will continue automatically in a few seconds. You can close this page.",
  "device.deniedTitle": "Access denied",
  "device.deniedText": "The device has no access to your account. You can close this page.",
} as const;

const de: Readonly<Record<keyof typeof en, string>> = {
  "device.title": "Gerät verbinden",
  "device.text": "Geben Sie den Code ein, den Ihr Gerät anzeigt.",
  "device.code": "Code",
  "device.continue": "Weiter",
  "device.invalid":
    "Kein Gerät wartet mit diesem Code. Vielleicht ist er abgelaufen: Prüfen Sie, welchen Code Ihr Gerät jetzt anzeigt.",
  "device.confirm": "Zeigt Ihr Gerät diesen Code?",
  "device.warning":
    "Fahren Sie nur fort, wenn Sie dies selbst begonnen haben und Ihr Gerät genau diesen Code zeigt. Wenn Ihnen jemand den Code oder einen Link geschickt hat, lehnen Sie ab.",
  "device.from": "Angefordert aus {place}, {ago}",
  "device.ago": "Angefordert {ago}",
  "device.asks": "{client} möchte auf diesem Gerät:",
  "device.allow": "Der Code stimmt, erlauben",
  "device.deny": "Ablehnen",
  "device.allowedTitle": "Ihr Gerät ist verbunden",
  "device.allowedText": "Es macht in wenigen Sekunden von selbst weiter. Sie können diese Seite schließen.",
  "device.deniedTitle": "Zugriff abgelehnt",
  "device.deniedText": "Das Gerät hat keinen Zugriff auf Ihr Konto. Sie können diese Seite schließen.",
};

export type DeviceText = keyof typeof en | MessageKey;

/** **Texts of the device pages**, with those that several pages share. */
export const deviceMessages: Catalog<DeviceText> = { en: { ...messages.en, ...en }, de: { ...messages.de, ...de } };
