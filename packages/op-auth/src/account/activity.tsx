import { clientMark } from "@edge-op/pages/client-mark";
import { Layout } from "@edge-op/pages/layout";
import { respondPage } from "@edge-op/pages/respond-page";
import { type EventPlace, formatPlace, listEvents, parsePlace, showEventTo } from "@edge-op/shared/audit/list-events";
import { personalDates } from "../pages/describe-values.ts";
import { type AuthPageFrame, frameOf, type PageRequest } from "../pages/frame.ts";
import { Item, type ItemProps } from "./account-parts.tsx";
import { asPerson } from "./require-person.ts";
import { isShownEvent } from "./shown-events.ts";

const path = "/account/activity";
/** Events of one page. */
const shownAtOnce = 25;
/** Rows that are read for it: others, such as issued tokens, lie between those that are shown. */
const readAtOnce = 200;

/**
 * **`GET /account/activity`**: what happened with a person's account, newest first, from the audit log. `before` is the place after which a page
 * begins. Cost: 1 object call; 1 D1 call, and the clients that are not in memory.
 */
export function showActivity(at: PageRequest): Promise<Response> {
  return asPerson(at, async ({ user }) => {
    const { context, request } = at;
    const frame = await frameOf(context, request);
    const before = parsePlace(new URL(request.url).searchParams.get("before") ?? "");
    const { events, next } = await readActivity(at, user.sub, before);
    const { time } = personalDates(context, frame.t.language, user);
    const { t } = frame;
    const shown = await Promise.all(
      events.map(async ({ type, time: at, address, client_id: clientId }) => ({
        title: isShownEvent(type) ? t(`activity.${type}`) : type,
        details: [
          <time datetime={at}>{time(Date.parse(at))}</time>,
          clientId && <bdi>{await nameOf(clientId)}</bdi>,
          address && t("activity.network", { network: address }),
        ],
      })),
    );
    return respondPage(<ActivityPage frame={frame} events={shown} isFirst={before === undefined} next={next} />);

    async function nameOf(clientId: string): Promise<string> {
      const client = await at.isolate.clients.find(context, clientId);
      return client === undefined ? clientId : clientMark(client).name;
    }
  });
}

/** `next` is where the next page begins; absent at the end. */
async function readActivity({ context }: PageRequest, sub: string, before: EventPlace | undefined) {
  const { rows, next } = await listEvents(context.env.AUDIT_DB, { sub, before }, readAtOnce);
  const known = rows.filter(({ type }) => isShownEvent(type));
  const shown = known.slice(0, shownAtOnce);
  const last = known.length > shownAtOnce ? shown.at(-1) : next;
  return { events: shown.map((row) => showEventTo(sub, row)), next: last && formatPlace(last) };
}

function ActivityPage(props: {
  readonly frame: AuthPageFrame;
  readonly events: readonly ItemProps[];
  readonly isFirst: boolean;
  readonly next: string | undefined;
}) {
  const { frame, events, isFirst, next } = props;
  const { t } = frame;
  return (
    <Layout {...frame} title={t("activity.title")} wide>
      <div class="head">
        <h1>{t("activity.title")}</h1>
        <p class="muted">{t("activity.text")}</p>
      </div>
      {events.length === 0 && <p class="muted small">{t("activity.none")}</p>}
      <ul class="list">
        {events.map(({ title, details }) => (
          <li>
            <Item title={title} details={details} />
          </li>
        ))}
      </ul>
      <p class="links">
        {!isFirst && (
          <a href={path} id="newest">
            {t("activity.newest")}
          </a>
        )}
        {next && (
          <a href={`${path}?${new URLSearchParams({ before: next })}`} id="older">
            {t("activity.older")}
          </a>
        )}
        <a href="/account" id="back">
          {t("activity.back")}
        </a>
      </p>
    </Layout>
  );
}
