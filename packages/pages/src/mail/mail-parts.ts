import type { Branding } from "../branding.ts";

/** A part of a mail: a paragraph, facts by name, a code that is typed from it, or a link to a page of this provider. The button is the main one. */
export type MailBlock =
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "facts"; readonly facts: readonly (readonly [name: string, value: string])[] }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "button" | "link"; readonly text: string; readonly url: string };

export interface MailContent {
  readonly subject: string;
  /** The subject, without the code. */
  readonly heading?: string;
  readonly blocks: readonly MailBlock[];
}

export interface MailFrame {
  readonly issuer: string;
  readonly branding: Branding;
  /** `DELETION_GRACE_DAYS`. */
  readonly deletionGraceDays: number;
}

/** What stands below each mail. */
export interface MailEnd {
  /** The deployment's own text. */
  readonly own: string | undefined;
  readonly help: { readonly text: string; readonly url: string } | undefined;
}
