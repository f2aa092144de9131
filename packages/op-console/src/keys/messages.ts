import type { Catalog } from "@edge-op/pages/translator";

const en = {
  "keys.title": "Keys",
  "keys.text": "A key is published first, then it signs, then it only verifies. The line marks the present time.",
  "key.kind": "Key",
  "key.published": "published {time}",
  "key.signs": "signs {from} to {until}",
  "key.verifies": "verifies until {time}",
  "key.state.pending": "pending",
  "key.state.announced": "announced",
  "key.state.active": "signs now",
  "key.state.retiring": "verifies only",
  "key.state.gone": "gone",
  "key.rotate": "Rotate",
  "key.rotateEnds":
    "Nothing ends: tokens of the present key stay valid. The announced successor signs as soon as every relying party can have it, and another key is announced.",
  "key.alg": "Algorithm",
  "key.revoke": "Revoke",
  "key.revokeEnds":
    "Every token that it has signed ends at once, everywhere. If it signs now, its successor takes over. Your own sign-in may end with it. It cannot be undone.",
} as const;

export type KeyKey = keyof typeof en;

const de: Readonly<Record<KeyKey, string>> = {
  "keys.title": "Schlüssel",
  "keys.text":
    "Ein Schlüssel wird erst veröffentlicht, dann signiert er, dann dient er nur noch der Prüfung. Die Linie zeigt diesen Moment.",
  "key.kind": "Schlüssel",
  "key.published": "veröffentlicht {time}",
  "key.signs": "signiert {from} bis {until}",
  "key.verifies": "prüft bis {time}",
  "key.state.pending": "geplant",
  "key.state.announced": "angekündigt",
  "key.state.active": "signiert jetzt",
  "key.state.retiring": "nur noch zur Prüfung",
  "key.state.gone": "entfernt",
  "key.rotate": "Wechseln",
  "key.rotateEnds":
    "Es endet nichts: Tokens des jetzigen Schlüssels bleiben gültig. Der angekündigte Nachfolger signiert, sobald jede Gegenseite ihn haben kann, und ein weiterer Schlüssel wird angekündigt.",
  "key.alg": "Algorithmus",
  "key.revoke": "Widerrufen",
  "key.revokeEnds":
    "Alle Tokens, die er signiert hat, enden sofort und überall. Signiert er gerade, übernimmt sein Nachfolger. Ihre eigene Anmeldung endet vielleicht mit. Es lässt sich nicht rückgängig machen.",
};

export const keyMessages: Catalog<KeyKey> = { en, de };
