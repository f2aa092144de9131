import { Mailbox, type SentMail } from "../../packages/edge-op/src/mailbox.ts";

const box = "browser";
/** A mail is sent by an alarm. */
const longestMs = 20_000;

/** **The mails that people of a browser test get**, for a provider that is started with {@link variables}. */
export class BrowserMailbox {
  readonly #mailbox: Mailbox;

  private constructor(mailbox: Mailbox) {
    this.#mailbox = mailbox;
  }

  static async start(): Promise<BrowserMailbox> {
    return new BrowserMailbox(await Mailbox.start());
  }

  get variables(): Readonly<Record<string, string>> {
    return this.#mailbox.variables(box);
  }

  /** The newest mail to an address, once it has more than `known`. */
  async next(to: string, known = 0): Promise<SentMail> {
    const [mail] = await this.#mailbox.wait(box, to, known, longestMs);
    if (mail === undefined) throw new Error(`no mail to ${to}`);
    return mail;
  }

  /** The first match in the subject or text of any mail to an address. */
  async find(to: string, pattern: RegExp): Promise<string> {
    for (let known = 0; ; known += 1) {
      const mails = await this.#mailbox.wait(box, to, known, longestMs);
      const found = mails
        .map(({ subject, text }) => pattern.exec(`${subject}\n${text}`))
        .find((match) => match !== null);
      if (found !== undefined) return found[0];
      if (mails.length <= known) throw new Error(`no mail to ${to} with ${pattern}`);
    }
  }

  /** The code of the newest mail, as it is printed there. */
  async codeFor(to: string, known = 0): Promise<string> {
    const { text } = await this.next(to, known);
    const [code] = /^\d{4} \d{4}$/m.exec(text) ?? [];
    if (code === undefined) throw new Error(`no code in the mail to ${to}: ${text}`);
    return code;
  }

  close(): void {
    this.#mailbox.close();
  }
}
