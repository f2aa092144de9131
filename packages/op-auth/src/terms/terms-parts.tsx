import type { PersonalDates } from "@edge-op/pages/describe-values";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { Terms } from "../runtime/deployment.ts";
import type { Agreement } from "../session/agreed-terms.ts";

/** **Links to the terms and the privacy policy of the deployment**, beside a text about them. */
export function TermsLinks({ frame: { t, branding } }: { readonly frame: AuthPageFrame }) {
  return (
    <nav class="links">
      <a href={branding.termsUrl}>{t("link.terms")}</a>
      {branding.privacyUrl && <a href={branding.privacyUrl}>{t("link.privacy")}</a>}
    </nav>
  );
}

/** **What a person agrees to by creating an account**; nothing without terms to agree to. */
export function TermsOfCreation(props: { readonly frame: AuthPageFrame; readonly terms: Terms | undefined }) {
  const { frame, terms } = props;
  if (terms === undefined) return null;
  return (
    <>
      <p class="muted small center" id="terms">
        {frame.t("terms.creating")}
      </p>
      <TermsLinks frame={frame} />
    </>
  );
}

/** **To what a person has agreed**, on their account page. */
export function AgreedTerms(props: {
  readonly frame: AuthPageFrame;
  readonly agreement: Agreement | undefined;
  readonly dates: PersonalDates;
}) {
  const { frame, agreement, dates } = props;
  if (agreement === undefined) return null;
  return (
    <p class="muted small" id="agreed-terms">
      {frame.t("terms.agreed", { version: agreement.version, date: dates.date(agreement.atMs) })}
    </p>
  );
}

/** The hidden fields of a form that agrees: the version that its page has shown. */
export function termsFields(terms: Terms | undefined): Readonly<Record<string, string>> {
  return terms === undefined ? {} : { terms: terms.version };
}
