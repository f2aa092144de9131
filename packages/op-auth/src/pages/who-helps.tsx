import type { AuthPageFrame } from "./frame.ts";

/** **Whom a person asks who cannot go on alone**, after the sentence that says so: the support of the deployment, else its administrator. */
export function WhoHelps({ frame, text }: { readonly frame: AuthPageFrame; readonly text: string }) {
  const { t, branding } = frame;
  return (
    <p class="muted" id="who-helps">
      {text} {branding.supportUrl ? <a href={branding.supportUrl}>{t("help.support")}</a> : t("help.administrator")}
    </p>
  );
}
