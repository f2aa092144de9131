import { createTranslator } from "@edge-op/pages/translator";
import type { Child } from "hono/jsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { factorMessages } from "./messages.ts";

interface Props {
  readonly frame: AuthPageFrame;
  /** Whose codes they are, for the file. */
  readonly username: string;
  readonly codes: readonly string[];
  /** How the person goes on. */
  readonly children?: Child;
}

/** **New recovery codes**, with a link that saves them as a file. */
export function RecoveryCodeList({ frame, username, codes, children }: Props) {
  const t = createTranslator(factorMessages, frame.t.language);
  const text = [`${frame.branding.name} · ${username}`, t("codesTitle"), "", ...codes, ""].join("\n");
  return (
    <>
      <ul class="codes" id="codes">
        {codes.map((code) => (
          <li>{code}</li>
        ))}
      </ul>
      <div class="actions">
        <a
          class="button"
          id="download"
          download="recovery-codes.txt"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
        >
          {t("download")}
        </a>
        {children}
      </div>
    </>
  );
}
