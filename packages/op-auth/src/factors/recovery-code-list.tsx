import type { Script } from "@edge-op/pages/assets";
import type { Child } from "hono/jsx";
import type { AuthPageFrame } from "../pages/frame.ts";

const body = `
"use strict";
(() => {
  const copy = document.getElementById("copy");
  const print = document.getElementById("print");
  if (print) {
    print.hidden = false;
    print.addEventListener("click", () => window.print());
  }
  if (!copy || !navigator.clipboard) return;
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(copy.dataset.copy);
    document.getElementById("copied").textContent = copy.dataset.copied;
  });
})();
`.trim();

/** Copies and prints the codes of {@link RecoveryCodeList}. Without it, its buttons are hidden. */
export const recoveryCodesScript: Script = { name: "recovery-codes.js", body };

interface Props {
  readonly frame: AuthPageFrame;
  /** Whose codes they are, for the file. */
  readonly username: string;
  readonly codes: readonly string[];
  /** How the person goes on. */
  readonly children?: Child;
}

/** **New recovery codes**: to be saved as a file, copied or printed. */
export function RecoveryCodeList({ frame, username, codes, children }: Props) {
  const { t } = frame;
  const text = [`${frame.branding.name} · ${username}`, t("factor.codesTitle"), "", ...codes, ""].join("\n");
  return (
    <>
      <ul class="codes" id="codes">
        {codes.map((code) => (
          <li>{code}</li>
        ))}
      </ul>
      <p class="muted small center" role="status" id="copied"></p>
      <div class="actions">
        <a
          class="button"
          id="download"
          download="recovery-codes.txt"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
        >
          {t("factor.download")}
        </a>
        <button type="button" class="quiet" id="copy" data-copy={text} data-copied={t("factor.copied")} hidden>
          {t("factor.copy")}
        </button>
        <button type="button" class="quiet" id="print" hidden>
          {t("factor.print")}
        </button>
        {children}
      </div>
    </>
  );
}
