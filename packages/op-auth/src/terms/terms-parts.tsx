import type { Agreement } from "@edge-op/shared/users/terms";
import type { PersonalDates } from "../pages/describe-values.ts";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthKey } from "../pages/messages.ts";
import type { Terms } from "../runtime/deployment.ts";

interface LinkedProps {
  readonly frame: AuthPageFrame;
  readonly text: AuthKey & `terms.${string}`;
  readonly values?: Readonly<Record<string, string>>;
}

/** Stands where a link comes: it is in no text. */
const place = "\u0000";

/** **A sentence with a link** to the terms (`{terms}`) or to the privacy policy (`{privacy}`). */
export function Linked({ frame, text, values = {} }: LinkedProps) {
  const { branding, t } = frame;
  const [url, name] =
    text === "terms.privacy" ? [branding.privacyUrl, t("link.privacy")] : [branding.termsUrl, t("link.terms")];
  const [before, after] = t(text, { ...values, terms: place, privacy: place }).split(place);
  return (
    <>
      {before}
      <a href={url}>{name}</a>
      {after}
    </>
  );
}

/** **What a person agrees to by creating an account**, and where the use of their data is described; nothing without terms to agree to. */
export function TermsOfCreation(props: { readonly frame: AuthPageFrame; readonly terms: Terms | undefined }) {
  const { frame, terms } = props;
  if (terms === undefined) return null;
  return (
    <p class="muted small" id="terms">
      <Linked frame={frame} text="terms.creating" />{" "}
      {frame.branding.privacyUrl && <Linked frame={frame} text="terms.privacy" />}
    </p>
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
  const values = { version: agreement.version, date: dates.date(agreement.atMs) };
  return (
    <p class="muted small" id="agreed-terms">
      <Linked frame={frame} text="terms.agreed" values={values} />
    </p>
  );
}

/** The hidden fields of a form that agrees: the version that its page has shown. */
export function termsFields(terms: Terms | undefined): Readonly<Record<string, string>> {
  return terms === undefined ? {} : { terms: terms.version };
}
