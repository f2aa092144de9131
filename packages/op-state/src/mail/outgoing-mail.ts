import type { RenderedMail } from "@edge-op/pages/mail/render-mail";

export interface OutgoingMail extends RenderedMail {
  /** The same for each attempt. */
  readonly id: string;
  readonly from: { readonly email: string; readonly name: string };
  readonly to: string;
}

/**
 * `retry`: the provider cannot accept it now. `suppressed`: it will never accept a mail to this address. `misconfigured`: it accepts no mail of this
 * deployment, which an operator must mend. `problem` is for the log and contains no address.
 */
export type SendResult =
  | { readonly kind: "sent"; readonly id: string }
  | { readonly kind: "retry"; readonly afterMs?: number; readonly problem: string }
  | { readonly kind: "suppressed"; readonly problem: string }
  | { readonly kind: "misconfigured"; readonly problem: string };
