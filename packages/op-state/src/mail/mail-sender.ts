import { brandingWith, readBranding } from "@edge-op/pages/branding";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import {
  type AddressFailure,
  type CodeMail,
  type CodeMailResult,
  type MailSenderRpc,
  type MailStatus,
  mailedCodeMs,
  type PreparedNotice,
} from "@edge-op/shared/mail/mail-sender-rpc";
import { takeBackLinkTo } from "@edge-op/shared/mail/sealed-links";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { SignInAttempts } from "../sessions/sign-in-attempts.ts";
import { AlarmSchedule, type AlarmTask } from "../wake/alarm-schedule.ts";
import { FactsObject } from "../wake/state-object.ts";
import { type FoundPerson, findChange } from "./find-change.ts";
import {
  type AddressedMail,
  decideRecipient,
  findHolder,
  openAddressedMail,
  openWaitingMail,
  type PersonMail,
  sealMail,
  type WaitingCode,
} from "./find-recipient.ts";
import { addressKey, codeLimits, FailedAddresses, noticeLimits, sendLimits } from "./mail-limits.ts";
import { firstLookMs, MailMachine, noticeLifeMs, type WaitOrDrop } from "./mail-machine.ts";
import { type MailProviderBindings, type SendResult, sendMail } from "./mail-provider.ts";
import { type MailRow, MailRows } from "./mail-rows.ts";

export type MailSenderEnv = SettingsVariables &
  Parameters<typeof readBranding>[0] &
  MasterKeyBindings &
  MailProviderBindings & { readonly DB: D1Database };

/** A provider takes few mails a second, and Cloudflare 40 in one invocation. */
const mailsPerAlarm = 40;
const mailsAtOnce = 4;
/** About 10 MB. */
const mostWaiting = 10_000;
/** Strangers request codes for addresses that nobody has, so codes leave room for the notices of changes. */
const mostWithCode = 8_000;
/** The time between two full batches, so that a backlog leaves room for calls. */
const againMs = 1_000;

/**
 * **The outbox of mails** (ADR 58): mail-machine.ts decides. Nobody waits for a provider: the alarm sends at most 40 mails, 4 at a time, each for at
 * most ten seconds. The recipient and the content are sealed, and deleted with the row.
 */
export class MailSender
  extends FactsObject<MailSenderEnv>
  implements Omit<MailSenderRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #rows: MailRows;
  readonly #failed: FailedAddresses;
  readonly #limits: SignInAttempts;
  readonly #alarms: AlarmSchedule;
  readonly #machine = new MailMachine();
  readonly #deliver: AlarmTask;
  #waiting: number;

  constructor(ctx: DurableObjectState, env: MailSenderEnv) {
    super(ctx, env);
    this.#rows = new MailRows(ctx.storage);
    this.#waiting = this.#rows.count();
    this.#failed = new FailedAddresses(ctx.storage.sql);
    this.#alarms = new AlarmSchedule(ctx);
    this.#limits = new SignInAttempts(ctx, this.#alarms);
    this.#deliver = this.#alarms.inBackground(
      () => this.#rows.nextDueMs(),
      () => this.#deliverDue(),
    );
  }

  async prepare({ id, ...content }: PreparedNotice): Promise<boolean> {
    const atMs = nowMs();
    if (this.#waiting >= mostWaiting) return false;
    const limits = noticeLimits(content);
    if (limits.length > 0 && this.#limits.reserve([limits], atMs).kind === "refused") return false;
    this.#waiting += 1;
    const sealed = await sealMail(this.env, id, { ...content, type: "notice" });
    this.#rows.insert({
      ...{ id, step: "prepared", tries: 0, content: sealed },
      ...{ createdAtMs: atMs, dueAtMs: atMs + firstLookMs, untilMs: atMs + noticeLifeMs },
    });
    this.#alarms.wakeBy(atMs + firstLookMs);
    return true;
  }

  async release(id: string): Promise<void> {
    const atMs = nowMs();
    this.#rows.release(id, atMs);
    this.#alarms.wakeBy(atMs);
  }

  async sendCode({ id, sender, knownBrowser, ...content }: CodeMail): Promise<CodeMailResult> {
    const limits = await codeLimits({ ...content, sender, knownBrowser });
    const sealed = await sealMail(this.env, id, { ...content, type: "code" });
    if (this.#waiting >= mostWithCode) return { kind: "full" };
    const atMs = nowMs();
    const room = this.#limits.reserve([limits], atMs);
    if (room.kind === "refused") return { kind: "throttled", retryAfterMs: room.retryAfterMs };
    this.#waiting += 1;
    this.#rows.insert({
      ...{ id, step: "released", tries: 0, content: sealed },
      ...{ createdAtMs: atMs, dueAtMs: atMs, untilMs: atMs + mailedCodeMs },
    });
    this.#alarms.wakeBy(atMs);
    return { kind: "queued" };
  }

  async recordFailures(failures: readonly AddressFailure[]): Promise<void> {
    const atMs = nowMs();
    for (const { address, kind } of failures) {
      this.#alarms.wakeBy(this.#failed.add(await addressKey(address), kind, atMs));
    }
  }

  async status(): Promise<MailStatus> {
    return { waiting: this.#rows.count(), ...this.#rows.refused() };
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run(
      [this.#deliver, (_, passedMs) => this.#limits.sweep(passedMs), (_, passedMs) => this.#failed.sweep(passedMs)],
      info,
    );
  }

  async #deliverDue(): Promise<number | undefined> {
    const due = this.#rows.due(nowMs(), mailsPerAlarm);
    const problems: string[] = [];
    for (let start = 0; start < due.length; start += mailsAtOnce) {
      await Promise.all(due.slice(start, start + mailsAtOnce).map((row) => this.#handle(row, problems)));
    }
    if (problems.length > 0) log("mail-delayed", { mails: problems.length, problem: problems[0]! });
    this.#waiting = this.#rows.count();
    const next = this.#rows.nextDueMs();
    return due.length === mailsPerAlarm && next !== undefined ? Math.max(next, nowMs() + againMs) : next;
  }

  async #handle(row: MailRow, problems: string[]): Promise<void> {
    const step = row.step === "addressed" ? await this.#send(row, problems) : await this.#lookUp(row);
    if (step === undefined) return;
    if (step.kind === "wait") return this.#rows.defer(row, step.dueMs, step.tries);
    if (step.reason === "expired" || step.reason === "unreadable") log("mail-abandoned", { reason: step.reason });
    this.#rows.delete(row);
  }

  /** Returns `undefined` if it has written the rows itself. */
  async #lookUp(row: MailRow): Promise<WaitOrDrop | undefined> {
    const mail = await openWaitingMail(this.env, row.id, row.content);
    if (mail === undefined) return { kind: "drop", reason: "unreadable" };
    return mail.type === "code" ? this.#lookUpHolder(row, mail) : this.#lookUpPerson(row, mail);
  }

  async #lookUpHolder(row: MailRow, mail: WaitingCode): Promise<WaitOrDrop | undefined> {
    const found = await findHolder(this.env.DB, mail, nowMs());
    const { holder, branding } = found === "no response" ? {} : found;
    const recipient = found === "no response" ? undefined : decideRecipient(mail, holder);
    const addresses = recipient === undefined ? [] : [recipient.to];
    const known = found === "no response" ? undefined : { isCommitted: true, addresses };
    const step = this.#machine.afterLookUp(row, true, known, nowMs());
    if (step.kind !== "expand" || recipient === undefined) return step.kind === "expand" ? undefined : step;
    const { locale, atMs, code, asker } = mail;
    const { to, kind } = recipient;
    const zoneinfo = holder?.zoneinfo;
    const sent = kind === "address-in-use" ? undefined : code;
    return this.#address(row, [{ ...{ to, kind, locale, zoneinfo, atMs, asker, branding }, code: sent }]);
  }

  async #lookUpPerson(row: MailRow, mail: PersonMail): Promise<WaitOrDrop | undefined> {
    const found = await findChange(this.env.DB, mail);
    const { kind, atMs, removed, asker, isByAdministrator } = mail;
    const told = found && {
      ...found,
      addresses: [...new Set([...found.addresses, ...(removed === undefined ? [] : [removed])])],
    };
    const step = this.#machine.afterLookUp(row, row.step === "released", told, nowMs());
    if (step.kind !== "expand") return step;
    const undo = mail.undo ?? (await this.#takingBack(mail, found));
    const addressed = step.addresses.map((to) => {
      const undoPath = (undo?.address ?? to) === to ? undo?.path : undefined;
      const facts = { kind, atMs, asker, isByAdministrator, undoPath };
      return {
        to,
        locale: found?.locale ?? mail.locale,
        zoneinfo: found?.zoneinfo,
        branding: found?.branding,
        ...facts,
      };
    });
    return this.#address(row, addressed);
  }

  /** The link of the oldest address of the person, which takes back what was added. */
  async #takingBack(
    { sub, takesBack: added }: PersonMail,
    found: FoundPerson | undefined,
  ): Promise<PersonMail["undo"]> {
    if (added === undefined || found?.oldest === undefined) return undefined;
    const { key, address } = found.oldest;
    return { address, path: await takeBackLinkTo(this.env, { sub, key, added }) };
  }

  async #address(row: MailRow, mails: readonly AddressedMail[]): Promise<undefined> {
    const addressed = mails.map(async (mail, index): Promise<MailRow> => {
      const id = `${row.id}.${index}`;
      return { ...row, id, step: "addressed", content: await sealMail(this.env, id, mail), dueAtMs: nowMs() };
    });
    this.#rows.replace(row.id, await Promise.all(addressed));
  }

  async #send(row: MailRow, problems: string[]): Promise<WaitOrDrop> {
    if (nowMs() >= row.untilMs) return { kind: "drop", reason: "expired" };
    const mail = await openAddressedMail(this.env, row.id, row.content);
    if (mail === undefined) return { kind: "drop", reason: "unreadable" };
    const key = await addressKey(mail.to);
    const failure = this.#failed.find(key, nowMs());
    if (failure !== undefined) return this.#suppress(row, `the address has ${failure}`);
    // An attempt that the provider did not accept keeps its places.
    const room = row.tries === 0 ? this.#limits.reserve([sendLimits(mail.kind, key)], nowMs()) : undefined;
    if (room?.kind === "refused") return { kind: "wait", dueMs: nowMs() + room.retryAfterMs, tries: 0 };
    const settings = readSettings(this.env);
    const { deletionGraceDays } = settings;
    const branding = brandingWith(readBranding(this.env), mail.branding);
    // With its texts it is as large as this class, and few starts of an isolate send a mail.
    const { renderAccountMail } = await import("@edge-op/pages/mail/codes");
    const result = await sendMail(this.env, settings, {
      id: row.id,
      from: { email: settings.mailFrom ?? "", name: branding.name },
      to: mail.to,
      ...(await renderAccountMail(mail, { issuer: settings.issuer, branding, deletionGraceDays })),
    });
    return this.#judge(row, result, problems);
  }

  #judge(row: MailRow, result: SendResult, problems: string[]): WaitOrDrop {
    if (result.kind === "suppressed") return this.#suppress(row, result.problem);
    if (result.kind === "misconfigured") log("mail-misconfigured", { problem: result.problem });
    if (result.kind === "retry") problems.push(result.problem);
    return this.#machine.afterSend(row, result, nowMs());
  }

  #suppress(row: MailRow, problem: string): WaitOrDrop {
    log("mail-suppressed", { problem });
    return this.#machine.afterSend(row, { kind: "suppressed", problem }, nowMs());
  }
}
