import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "start.title": "Connect an application",
  "start.text":
    "Choose a framework. The console creates the client and shows the code with its values. The tests of Edge OP run each of these.",
  "start.connect": "Connect an application",
  "start.name": "Name, as people read it at consent",
  "start.origin": "Where the application runs",
  "start.originHelp": "Its origin, such as https://app.example.com or http://localhost:3000.",
  "start.ends": "Nothing ends. A client is created for the application.",
  "start.doneTitle": "The application is connected",
  "start.doneText":
    "The secret is in the code and is shown once. Store it as your framework stores secrets, and start the application.",
  "start.id": "Client id",
  "start.secret": "Secret",
  "start.client": "Open the client",
} as const;

export type StartKey = keyof typeof en;

const de: Readonly<Record<StartKey, string>> = {
  "start.title": "Eine Anwendung anbinden",
  "start.text":
    "Wählen Sie ein Framework. Die Konsole legt den Client an und zeigt den Code mit seinen Werten. Jeder davon wird von den Tests von Edge OP ausgeführt.",
  "start.connect": "Eine Anwendung anbinden",
  "start.name": "Name, wie Personen ihn bei der Zustimmung lesen",
  "start.origin": "Wo die Anwendung läuft",
  "start.originHelp": "Ihre Origin, etwa https://app.example.com oder http://localhost:3000.",
  "start.ends": "Es endet nichts. Für die Anwendung wird ein Client angelegt.",
  "start.doneTitle": "Die Anwendung ist angebunden",
  "start.doneText":
    "Das Geheimnis steht im Code und wird einmal gezeigt. Speichern Sie es, wie Ihr Framework Geheimnisse speichert, und starten Sie die Anwendung.",
  "start.id": "Client-ID",
  "start.secret": "Geheimnis",
  "start.client": "Client öffnen",
};

export const startMessages: Catalog<StartKey> = { en, de };
