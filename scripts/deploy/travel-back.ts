import { confirm } from "./confirm.ts";
import { refuseForeign } from "./destroy-environment.ts";
import type { Options } from "./options.ts";
import { recordAgain } from "./record-choices.ts";
import { Refusal } from "./refusal.ts";
import { RunLock } from "./run-lock.ts";
import { query, type Session } from "./session.ts";

const bookmark = /^[0-9a-f]{8}(?:-[0-9a-f]{8}){2}-[0-9a-f]{32}$/;
const keptMs = 30 * 86_400_000;

/**
 * **`npm run deploy -- time-travel`**: sets a database back to an earlier moment (D1's Time Travel), and prints the command that undoes it. What was
 * changed since that moment is held by `ControlPlane` (docs/operating/failures.md).
 *
 * @see https://developers.cloudflare.com/d1/reference/time-travel/
 */
export async function travelBack(session: Session, to: string, options: Options): Promise<void> {
  const { api, account, environment, inventory, names } = session;
  refuseForeign(session);
  const name = names.databases[options.audit ? "AUDIT_DB" : "DB"]!;
  const id = inventory.databases.get(name);
  if (id === undefined) throw new Refusal([`The database ${name} does not exist: npm run deploy -- restore.`]);
  const path = `/accounts/${account}/d1/database/${id}/time_travel`;
  const moment = bookmark.test(to)
    ? to
    : (await api.get<{ bookmark: string }>(`${path}/bookmark?timestamp=${readTime(to)}`)).bookmark;
  console.log(`This sets the database ${name} back to ${to}. Requests in progress fail; every later change is lost.`);
  await confirm(environment.name, options.confirm, [
    ["Type the name of the environment to set it back: ", environment.name],
  ]);
  const where = `${environment.name === "production" ? "" : ` --environment ${environment.name}`}${options.audit ? " --audit" : ""}`;
  await RunLock.run(session, async () => {
    const restore = `${path}/restore?bookmark=${encodeURIComponent(moment)}`;
    const { previous_bookmark: before } = await api.send<{ previous_bookmark: string }>("POST", restore);
    console.log(`${name} is as it was. To undo this: npm run deploy -- time-travel ${before}${where}`);
    if (!options.audit) await query(session, id, recordAgain(inventory.recorded ?? new Map(), Date.now()));
  });
  console.log(options.audit ? "The lost events are recorded as gaps (docs/operating/audit.md)." : followsRestoration);
}

/** With its zone: at night nobody computes offsets. */
function readTime(text: string): string {
  const atMs = /T.*(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs))
    throw new Refusal([`"${text}" is no time with its zone, as 2030-01-31T04:05:00Z, and no bookmark.`]);
  const nowMs = Date.now();
  if (atMs > nowMs || atMs < nowMs - keptMs) throw new Refusal([`${text} is not in the last 30 days.`]);
  return new Date(atMs).toISOString();
}

export const followsRestoration = `What was changed since is refused until you decide: edge-op held-records list
(docs/operating/failures.md#d1-was-restored-to-an-earlier-moment).`;
